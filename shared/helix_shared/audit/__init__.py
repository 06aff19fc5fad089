"""The audit streams: records of calls and commands with their outcomes; ids and counts, no texts.

`record` has the form of a record; `helix_shared.broker.audit_messages` makes messages of both streams. May
import nothing of other rooms.
"""
