"""Reading events from JSONL, documents, and the transcripts of Claude Code and Codex.

Start with `read`: it picks the reader for a file's format, which `discover` found. A reader yields the items
of `items`; `fitting` shortens or splits texts that exceed a limit; `documents/` reads Markdown, plain text,
source code, HTML and PDF. May import `output`, and of `helix_ingest` how documents are read.
"""
