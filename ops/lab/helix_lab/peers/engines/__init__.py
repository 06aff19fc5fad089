"""One peer a file: tiny, at the defaults its documentation gives, with nothing of Helix in it.

Each has `PACKAGE` (the distribution its version is read from), `NOTE` (what a reader of the table has to
know) and `load(documents, vectors, home)`, which returns `search(text, vector, tenant, top_k)`: handles, best
first. A document is a dict with `handle`, `content` (what is searched), `text`, `title`, `speaker`, `tenant`;
an empty tenant means everything. `home` is an empty folder of the engine's own.
"""
