"""What a program that uses Helix imports: event models, subjects and the gRPC stubs.

Start with `helix_memory.events` (what may be published), `helix_memory.subjects` (where it is published) and
`helix_memory.recall.v1` (how to recall). This package imports no other package of Helix and no engine.
"""
