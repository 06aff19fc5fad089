"""NATS: connecting, provisioning streams, publishing, reading messages. Needs the extra [broker].

Start with `publisher` and `streams`; `worker/` holds what all workers share. May import `helix_memory` and
the top-level modules of `helix_shared`, and no other room.
"""
