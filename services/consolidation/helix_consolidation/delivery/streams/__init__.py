"""The streams that a writer reads: whether they belong to its data folder, and which messages are pruned.

Start with `stream_state` (at the start of a writer) and `followed_log` (while it runs); `prune` removes what
every reader has acknowledged.
"""
