"""How a new statement relates to earlier ones: features of a pair, a small fitted model, rules with a veto.

Start with `decide`; `statement` has its input and output. Pure functions without state and I/O: the same
statement and candidates give the same decisions. Imports `helix_shared` and `helix_memory` only.
"""
