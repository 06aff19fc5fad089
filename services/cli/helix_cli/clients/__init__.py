"""Clients of NATS and of the services, for commands, the stack, the lab and the tests.

Start with `broker` (NATS for the length of a `with`); `helix_memory.transport` has the client of the query
service. Both turn a failed call into the error that a user reads. `bulk` and `sending` publish events;
`broker_status`, `writer_status` and `deep_check` are read by `helix status`. May import `sources` and
`output`.
"""
