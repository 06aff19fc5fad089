"""Pairs of memories about which consolidation is unsure, and what a language model says of them.

Consolidation publishes pairs (`messages`) on HELIX_PAIRS; the worker `extract` answers with the edge
`verdicts`. May import the top-level modules of `helix_shared` only.
"""
