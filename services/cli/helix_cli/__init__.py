"""The `helix` command: one file per command, and the libraries they share.

`stack` runs all of Helix on one machine and is used by `helix up`, the demo, the lab and the tests.
"""
