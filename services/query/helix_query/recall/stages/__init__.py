"""The stages of a recall, one file each; start with `recall.recall`, which has their order.

A stage function takes the `RecallContext` and what the stages before it made, and returns the next value. The
pure functions beside it know no context: they take arrays and constants. `adaptive_weights` belongs to
`fuse`; `base_score`, `scoring`, `normalise` and `latest_statement` to `rank`. May import every other room of
`recall`.
"""
