"""Code that only the published recipes use (profiles `cems`, `engram`, `helix-reference`).

Start with `factors` (stage 6: blended signals and factors on the score; `noise` adds noise). In stage 3,
`rephrasing` makes variants of a query and `extra_searches` searches for them. The constants are in
`profile.recipes`; at their defaults nothing here has an effect.
"""
