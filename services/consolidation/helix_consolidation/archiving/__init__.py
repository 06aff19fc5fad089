"""The archive of events, which the writer fills before it applies anything (ops/decisions/0070).

The files are those of `helix_shared.event_log.archive`.
"""
