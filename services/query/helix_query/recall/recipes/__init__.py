"""What only the published recipes need (profiles `cems`, `engram`, `helix-reference`).

Stage 3: `rephrasing` makes variants of a query, `extra_searches` searches for them. Stage 6: `factors`
blends signals and multiplies scores. The constants are in `profile.recipes`; at their defaults nothing here
has an effect.
"""
