"""Evaluation sets and how they are asked. Start with `data`.

`data` is a set, `load` reads one, `handles` hides its ids. `build` and `direct` run the services' functions
in this process, `stream` uses NATS and gRPC; `ask` makes the request and reads the answer on both paths.
`cached` asks one set with many profiles.
"""
