"""What a program that uses Helix imports: the client, event models, subjects and the gRPC stubs.

Start with `helix_memory.client` (remember and recall), `helix_memory.events` (what may be published),
`helix_memory.subjects` (where it is published) and `helix_memory.recall.v1` (the contract of a recall).
`errors` has what calls raise, `limits` every limit of a field; `explanation` and `arithmetic` recompute a
score. This package imports no other package of Helix and no engine.
"""
