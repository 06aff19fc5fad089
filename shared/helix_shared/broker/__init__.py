"""NATS as services use it: provisioning streams, reading messages. Needs the extra [broker].

`helix_memory.transport` connects and publishes. Start with `streams` (also the lifetime of the lease) and
`settlement` (what becomes of a delivered message: retries, dead letters). `pull` fetches; `provisioning/`
makes streams and compares them; `worker/` is what all workers share. May import `helix_memory` and the
top-level modules of `helix_shared`, and no other room.
"""
