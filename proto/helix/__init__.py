"""What a program that uses Helix imports: event models, subjects and the gRPC stubs.

`helix.events` says what may be published, `helix.subjects` where, `helix.recall.v1` how to ask.
Nothing here needs an engine; NATS and gRPC clients are the program's own.
"""
