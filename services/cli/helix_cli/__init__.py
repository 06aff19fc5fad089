"""The program `helix` and what it is made of; start with `__main__` and `commands.group`.

A room imports those below it: `commands`, `stack`, `clients` and `model_build`, `sources`, `output`.
The lab, the demo and the tests use `stack` and `clients` as well.
"""
