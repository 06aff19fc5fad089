"""Asymmetric pairs: a larger encoder for passages and a smaller one for queries, in one space.

Start with `pairing`. `helix_shared.encoders.encoder` runs a pair as one encoder.
"""
