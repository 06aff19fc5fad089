"""The audit stream: who did what to memories, when, with which outcome; ids and counts, no texts.

`record` has the form of a record; `helix_shared.broker.audit_messages` makes the messages of HELIX_AUDIT. May
import nothing of other rooms.
"""
