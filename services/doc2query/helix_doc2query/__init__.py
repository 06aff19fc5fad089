"""doc2query: memory -> questions that it answers. Has no state.

Start with `predict`; `keep` selects, `consumer` connects both to NATS; `t5/` is a model for
questions. May import `helix_memory` and `helix_shared` without its artifacts, and no other service.
"""
