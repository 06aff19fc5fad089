"""The profile of a user: what their own statements say about them, as lines that cite their memories.

Start with `build`; `statements` reads the memories, `merge` joins what was said twice, `layout` writes the
text; `lines` holds their data. May import the snapshot and the visibility, no stage.
"""
