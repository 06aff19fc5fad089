"""Optional: turns -> statements, unsure pairs -> verdicts, by a language model. Off unless one is configured.

Start with `consumer`. `windows/` gathers the turns of a session, `answers/` builds the prompt, checks the
answer and records it, `statements` makes rows of what passed. `pairs/` asks about pairs of memories.
`language_model` asks within the limits, `accounting/` counts what it costs; `helix_shared.endpoint` talks to
the model. May import `helix_memory` and `helix_shared` without its artifacts, and no other service.
"""
