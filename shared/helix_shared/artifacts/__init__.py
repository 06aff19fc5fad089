"""The artifacts of a generation, one room for each format, with its writer and its reader.

`vectors` (LanceDB), `lexicon` (tantivy), `graph`, `signals`, and `generation`, which publishes and opens
them together. `filter` says which memories a recall may return, `files` holds what all rooms need of the
file system. `learned_adapters` lie beside the generations. An ordinal (dense int64, assigned by
consolidation in order of arrival, never reused) is the row index of every array. Only consolidation opens the
writers. Start with `generation`; may import `helix_memory` and the top level of `helix_shared`.
"""
