"""The benchmark: what Helix costs over generated memories.

Start with `command`. `generate/` builds the data, `run_folder` starts the stack over a clone of it; the other
modules measure one section of the report each: `recall_load`, `live_ingest`, `ingest_rate`, `floor`,
`memory`, `vector_indices`, `cross_encoder`, `peer_engines`.
"""
