"""The state of the writer: memories, near-duplicates, tombstones, pending actions, processed sequences.

Plain in-memory structures without I/O, apart from `lifecycle.tombstone_log`. `consolidation_state` lists them
all; start there. Imports `helix_shared` only.
"""
