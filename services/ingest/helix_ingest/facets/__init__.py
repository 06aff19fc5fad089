"""Which parts of a profile a text states: identity, preferences, constraints, plans and more.

Start with `find`; `sentences` cuts a text, `lasting` and `current` hold the patterns of the two parts of a
profile. Pure functions of a text; nothing is read or embedded.
"""
