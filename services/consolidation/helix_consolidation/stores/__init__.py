"""The stores on the disk: load the last generation, write `Changes`, publish the next generation.

Start with `shard`, which holds stores and state and runs in one thread. Imports `folding` and `ledger`.
"""
