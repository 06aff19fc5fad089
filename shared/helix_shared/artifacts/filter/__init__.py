"""Filters: which memories a recall may return, in the form that each reader needs.

Start with `selection`: what a caller asks for. `filters` holds one class for each filter of a request; a new
filter is a class there and an entry of `FILTERS`. `access` is who may see a memory, `past` the past moment.
Imports signals and files; vectors, lexicon and the query service import this room.
"""
