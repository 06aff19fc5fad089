"""Reading events from JSONL, Markdown, and the transcripts of Claude Code and Codex.

Start with `read`: it picks the reader for a file's format (`discover`). A reader yields the items of `items`;
`fitting` shortens or splits texts that exceed a limit. May import `output`.
"""
