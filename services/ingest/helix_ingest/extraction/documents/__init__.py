"""From the source of a document to its pieces: plain text, Markdown, HTML, PDF, source code.

Start with `document`, which picks the reader of a media type. The text of HTML and PDF is extracted first
(`html`, `pdf`), and the offsets of its pieces refer to the extracted text. `code` finds where source code is
split, with the grammar that `languages` names. Nothing here opens a network connection or a file that a
source names.
"""
