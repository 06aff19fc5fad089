"""NATS: connecting, provisioning streams, publishing, reading messages. Needs the extra [broker].

Start with `publisher`, `streams` (also the lifetime of the lease) and `settlement` (what becomes of a
delivered message: retries, dead letters). `connection` and `pull` connect and fetch; `worker/` is what all
workers share. May import `helix_memory` and the top-level modules of `helix_shared`, and no other room.
"""
