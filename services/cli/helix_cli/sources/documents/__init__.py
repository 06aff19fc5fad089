"""Reading files that become documents: Markdown, plain text, source code, HTML and PDF.

Start with `document`, which makes the events of a file from its `Content`. `content` picks the reader of a
format, and `formats` tells the format of a file by its ending and its first bytes. The texts of HTML and PDF
are extracted by `helix_ingest`, as they are there.
"""
