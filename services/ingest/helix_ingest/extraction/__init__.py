"""The steps from an event to its memories: segment, contextualise, tell the speech act, classify, score.

Start with `drafts`, which calls them in order and picks the turns of the context. May import `helix_memory`
and the top-level modules, `naming` and `timex` of `helix_shared`.
"""
