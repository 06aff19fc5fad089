"""Looks for what was erased in every file and stream of this machine; start with `canaries`.

`files` reads raw bytes, and what an engine keeps in a form of its own through that engine; `streams` reads
every message. Nothing here changes anything.
"""
