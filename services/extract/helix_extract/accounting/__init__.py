"""What do questions to the language model cost, and what becomes of them?

`ledger` counts tokens, calls and drops in NATS, `metrics` for Prometheus. Knows no turn and no memory.
"""
