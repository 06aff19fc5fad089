"""The constants of a ranking profile, a file for each group of stages.

Start with `section`, the base of all of them. `helix_query.profile.profile` puts them together. May import
`profile.intent`, `profile.recipes` and `helix_memory`.
"""
