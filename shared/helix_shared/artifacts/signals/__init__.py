"""Signals: fixed-width columns by ordinal, and vectors, MinHash signatures and JSON records beside them.

Start with `columns` (what is stored) and `reader` (`Signals`, what ranking reads). `segments` is one
immutable segment on the disk, `sketches` and `tenant_sketches` serve the scan of a tenant, `writer` appends
and merges segments. Imports files; every room above may import this one.
"""
