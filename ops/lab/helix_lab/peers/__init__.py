"""Other engines on the same documents, vectors and questions, each in a process without Helix.

Start with `command`, which prints the table. `exchange` writes and reads the folder between the two sides,
`run` starts one process per engine, `ask` and `engines/` are the other side: they run in an environment of
their own (`ops/decisions/0010`) and import nothing of this package.
"""
