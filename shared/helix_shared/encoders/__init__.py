"""Sentence encoders on ONNX Runtime: where models lie, what a model is, text in, unit vector out.

`store` finds a model's folder, `model` proves that its files are the ones that were written there,
`encoder` runs it. Models are only read here; `helix_cli.model_build` makes them.
"""
