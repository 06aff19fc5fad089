"""Making models: other people's weights in, a checked int8 model folder out.

`minilm` (from the installed package) and `hub` (from the network) both end in `importing`, which reads
what the folder says of itself (`description`, `graph_file`), turns the graph into int8 (`quantise`), proves
that it still is the same encoder (`fidelity`) and lets it appear whole (`publish`). onnx and safetensors are
used here and nowhere else; running a model is `helix_shared.encoders`.
"""
