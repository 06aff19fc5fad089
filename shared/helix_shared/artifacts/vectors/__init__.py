"""The vector store: one LanceDB table of whole records, its writer, its reader and its vector index.

Start with `writer` (consolidation) or `reader` (the query service). `index` has the kinds of vector index,
`maintenance` when they are built and files compacted, `form` the settings, `scan` what is scanned. Only this
room imports `lancedb`. It imports `files`, `filter` and `signals` of the artifacts, never `generation`.
"""
