"""Transcripts of agents as events: for `helix import`, and for the hooks of the gateway.

Start with `claude_code`: a reader yields the items of `items`. `cleaning` takes out what nobody may
learn from a transcript, `projects` names the project of a folder, `fitting` shortens or splits texts
that exceed a limit, and `new_lines` reads a transcript from where it was left. May import
`helix_memory`.
"""
