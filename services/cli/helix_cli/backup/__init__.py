"""Backups of a whole instance while it runs, and their restoration into an empty home (ops/decisions/0069).

`backup` writes, `restore` reads, `contents` is the list of what a backup holds, `objects` keeps its bytes,
`stream_copy` moves streams by JetStream's own snapshots, which keep sequences and times.
"""
