"""Generations: which one is served, and how the next one replaces it.

Start with `current`: it opens, verifies, warms and swaps. `warmup` has the canary queries, `snapshot` is one
opened generation as the stages read it, `installed_model` finds the encoder that made it. `current` and
`warmup` may import `recall`; `snapshot`, `as_of_index` and `session_order` lie below it.
"""
