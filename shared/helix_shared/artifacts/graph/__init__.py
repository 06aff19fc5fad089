"""The graph: memories, the entities that they mention, and typed edges between them.

Start with `snapshot` (the graph of one generation, as walks read it) and `builder` (its writer). A snapshot
is a `base`, written at the last `compaction`, and a `delta`, what was stated since. Imports files.
"""
