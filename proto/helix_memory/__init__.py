"""What a program that uses Helix imports: event models, subjects and the gRPC stubs.

`helix_memory.events` says what may be published, `helix_memory.subjects` where, and
`helix_memory.recall.v1` how to ask.
Nothing here needs an engine; NATS and gRPC clients are the program's own.
"""
