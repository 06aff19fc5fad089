"""Exports and imports: the events of tenants as JSON lines, to another instance or under another name.

`export` writes, `import_export` reads, `rename` gives the events of one tenant to another. The lines are
those of `helix_shared.event_log.export_file`.
"""
