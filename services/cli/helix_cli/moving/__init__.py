"""One tenant is moved from the shard that it is in to another one, while it is written and read.

Start with `move`. `prepared` derives the messages of its events, `arrival` applies them to the stores of the
target, while the writers of both shards pause (`clients.pausing`). May import `rebuilding`, `stack` and
`clients`.
"""
