"""Reading events from JSONL, documents, and transcripts of agents.

Start with `read`: it picks the reader for a file's format, which `discover` found. Readers of
transcripts, and what all readers yield, are in `helix_shared.sources`; `documents/` reads Markdown,
plain text, source code, HTML and PDF. May import `output`, and of `helix_ingest` how documents are read.
"""
