"""Tables of a PDF page, which has no tables but texts at places and lines.

Start with `page`, which puts the tables into the text. `placed` reads places and lines with pypdf, `ruled`
finds tables that lines divide into cells, `aligned` those whose cells stand below each other. `grid` writes
both as Markdown. Runs in the child process of `pdf`.
"""
