"""The audit stream: who did what to memories, when, with which outcome; ids and counts, no texts.

`record` has the form of a record, `messages` those of HELIX_AUDIT. May import nothing of other rooms.
"""
