"""One tenant is moved from the shard that it is in to another one, while it is written and read.

Start with `move`. `prepared` derives the messages of its events, `arrival` applies them to the stores of the
target, `held_writers` keeps the writers of both shards away meanwhile. May import `rebuilding`, `stack` and
`clients`.
"""
