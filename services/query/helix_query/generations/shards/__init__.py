"""Which shard serves a tenant, and which shards of this process are loaded.

`source` is what a call asks; `only` answers for a process with one shard, `shards` for one with several: they
are loaded when a call needs them (`shard`), and evicted where their bytes pass the budget, or when idle.
`opening` chooses by the settings. `helix_query.app` gives what holds a generation (`generations.current`).
"""
