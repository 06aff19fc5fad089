"""The documentation site: which pages it has, what they include, and what is checked about them.

`make docs` runs `build`: assemble the pages (`pages`, `sources`, `generated`), render them with MkDocs, check
the links of what was rendered (`rendered_links`), run what the pages show (`programs`, `running`). The pages
lie in `docs/pages`, the programs in `docs/examples`.
"""
