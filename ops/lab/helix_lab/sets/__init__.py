"""Evaluation sets and how they are asked. Start with `data`.

`data` reads a set, `handles` hides its ids. `build` and `direct` run the services' functions in this process,
`stream` uses NATS and gRPC; `ask` makes the request and reads the answer on both paths. `cached_corpus` asks
one set with many profiles.
"""
