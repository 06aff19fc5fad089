"""Optional: turns -> statements, by a language model. Off unless an endpoint is configured.

Start with `consumer`. `windows/` gathers the turns of a session, `answers/` builds the prompt, checks the
answer and records it, `endpoint/` talks to the model, `statements` makes rows of what passed. May import
`helix_memory` and `helix_shared` without its artifacts, and no other service.
"""
