"""What only the published recipes need (profiles `cems`, `engram`, `helix-reference`).

`factors` holds the scoring of stage 6, `rephrasing` the searches in other words of stage 3. Their constants
are in `profile.recipes`; at the defaults they do nothing. `profile.recipes` lists which recipe uses what.
"""
