"""Which parts of a profile a text states: identity, preferences, constraints, plans and more.

Start with `find`; `sentences` cuts a text, `static_part` and `dynamic_part` hold the patterns of the two
parts of a profile, `changed` those of a new home or job; `tasks` tells the words of tasks from their other
senses, `advice` from what everybody should do. Pure functions of a text; nothing is read or embedded.
"""
