"""The report of the lab: one JSON file of figures, shown as tables, charts and a page.

Start with `write`, which writes all files. `figures` reads the JSON; `markdown` puts `summary`, `tables`,
`detail` and `explain` together; `charts` draws with `drawing` and `labels`; `page` renders HTML.
"""
