"""Sentence encoders on ONNX Runtime: find a model, check its files, turn text into unit vectors.

Start with `encoder`, for rerankers with `cross_encoder`. `store` finds the folder of a model, `model` checks
its files, `helix_cli.model_build` makes models. `minhash` makes the signatures by which near-duplicates are
found. May import the top-level modules of `helix_shared` only.
"""
