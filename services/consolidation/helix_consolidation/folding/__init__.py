"""What a message changes, in memory: message + `ConsolidationState` -> `Changes`.

Start with `fold`, which dispatches to `memories`, `enrichment` and `lifecycle`. No store and no broker is
touched. Imports `ledger`.
"""
