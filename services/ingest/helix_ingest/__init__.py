"""1. event -> memories: segment, contextualise, classify, score, embed. Has no state.

Start with `memories_builder`, which builds the memories of an event from the steps in `extraction/`;
`consumer` connects it to NATS; `settings` has the length of a piece, the caches and the lanes. May import
`helix_memory` and `helix_shared` without its artifacts, and no other service.
"""
