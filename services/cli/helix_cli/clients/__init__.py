"""Clients of NATS and of the query service, for commands, the stack, the lab and the tests.

Start with `broker` (NATS) or `recall_client` (gRPC); both turn a failed call into the error that a user
reads. `bulk` and `sending` publish events; `broker_status`, `writer_status` and `deep_check` are read by
`helix status`. May import `sources` and `output`.
"""
