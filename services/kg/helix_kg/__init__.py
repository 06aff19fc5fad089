"""kg: memory -> entities and typed links. Has no state.

Start with `extract`; `resolve` merges links, `consumer` connects both to NATS. May import `helix_memory` and
`helix_shared` without its artifacts, and no other service.
"""
