# The image whose files every pod with an embedding model copies: two builds of a model on different processors can
# differ, and a generation is served only with the model that it was made with.
#
#   docker build -f ops/Dockerfile --build-arg SERVICE=cli -t helix-cli .
#   docker build -f ops/chart/model.Dockerfile --build-arg CLI=helix-cli -t helix-model .
ARG CLI=helix-cli
FROM ${CLI}
RUN ["/opt/helix/bin/python", "-I", "-m", "helix_cli", "models", "build"]
