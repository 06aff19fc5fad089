"""Making sentence encoders and cross-encoders: from published weights to a checked int8 model folder.

Start with `importing`, which every encoder passes through: it reads the folder's description (`description`,
`graph_file`), quantises the graph (`quantise`), compares it with the original (`fidelity`) and publishes the
folder (`publish`). `rerankers/` imports cross-encoders. `minilm` builds from the installed package, `hub`
fetches from the network. onnx and safetensors are used only here; `helix_shared.encoders` runs models.
Imports no other room.
"""
