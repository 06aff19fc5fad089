"""How is a dead letter redriven? Read `redrive` first.

`responder` does it for the gateway, in every writer process; `helix dlq` calls `redrive` itself. It may read
and write streams, and no store.
"""
