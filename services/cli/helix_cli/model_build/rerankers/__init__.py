"""Importing cross-encoders: what differs from a sentence encoder.

Start with `importing`. It reads and quantises graphs with the modules above this folder; `fidelity` compares
the logits of two models. `helix_shared.encoders.cross_encoder` runs them.
"""
