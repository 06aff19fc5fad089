"""Computes the changes of a message in memory: message + `ConsolidationState` -> `Changes`.

Start with `fold`, which dispatches to `memories`, `enrichment` and `lifecycle`. `incoming` reads messages,
`status` keeps what holds. No store and no broker is touched. Imports `ledger`.
"""
