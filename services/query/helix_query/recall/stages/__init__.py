"""The eight stages of a recall, one file each; `helix_query.recall.recall` holds their order.

A stage is a function: typed value in, typed value out, constants as keywords, no clock and no
state. What travels between them stands in `helix_query.recall.candidates`.
"""
