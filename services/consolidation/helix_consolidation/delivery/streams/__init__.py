"""The streams that a writer reads: whether they belong to its data folder, and what may leave them.

Start with `stream_state` (at the start of a writer) and `followed_log` (while it runs); `prune` removes what
every reader has acknowledged.
"""
