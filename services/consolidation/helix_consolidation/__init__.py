"""Stage 3 of the pipeline, and the only writer: derived messages and lifecycle events in, generations out.

Four rooms; imports go down only: `delivery` (NATS: fetch, apply, publish, settle) -> `stores` (write the
stores, publish a generation, load one) -> `folding` (what a message changes) -> `ledger` (what the writer
remembers). Start with `delivery.writer` for the loop, `folding.fold` for the effect of one message.
`settings` has every interval, limit and retention that an operator may change.
"""
