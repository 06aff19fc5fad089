"""From the source of a document to its pieces: plain text, Markdown, HTML, PDF, source code.

Start with `document`, which picks the reader of a media type. The text of HTML and PDF is extracted first
(`html_page`, `pdf`), and the offsets of its pieces refer to the extracted text. What may take long is read in
a child process (`limited`). `code` finds where source code is
split, with the grammar that `languages` names. Nothing here opens a network connection or a file that a
source names.
"""
