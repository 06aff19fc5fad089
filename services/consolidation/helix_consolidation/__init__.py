"""Stage 3 of the pipeline, and the only writer: derived messages and lifecycle events in, generations out.

Rooms; imports go down only: `delivery` (NATS: fetch, apply, publish, settle) -> `stores` (write the
stores, publish a generation, load one) -> `usage` (accesses, decay) -> `folding` (what a message changes) ->
`ledger` (what the writer remembers). `forwarder` is a process of its own, which brings accesses to NATS.
Start with `delivery.writer` for the loop, `folding.fold` for the effect of one message.
`settings` has every interval, limit and retention that an operator may change.
"""
