"""The documentation site: which pages it has, what they include, and what is checked about them.

`make docs` runs `helix_docs.build`: assemble the pages (`pages`, `sources`, `generated`), run what they show
(`programs`), render them with MkDocs, and check the links of what was rendered (`rendered_links`). The pages lie in
`docs/pages`, the programs in `docs/examples`.
"""
