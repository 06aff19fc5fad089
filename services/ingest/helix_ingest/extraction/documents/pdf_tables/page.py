"""The text of a PDF page with its tables as Markdown, each where its first text stands in the file."""

from __future__ import annotations

import re
from typing import Final

from pypdf import PageObject
from pypdf.generic import ContentStream, NameObject

from helix_ingest.extraction.documents.pdf_tables.aligned import aligned_tables
from helix_ingest.extraction.documents.pdf_tables.grid import Table
from helix_ingest.extraction.documents.pdf_tables.placed import Placed, placed
from helix_ingest.extraction.documents.pdf_tables.ruled import ruled_tables

MOST_OPERATIONS: Final = 100_000
"""Drawing operations of the pages of one file whose tables are found, which takes 2 to 6 s of CPU time."""
_EMPTY_LINES: Final = re.compile(r"\n\s*\n")


class PageReader:
    """Reads the pages of one file, in their order."""

    def __init__(self) -> None:
        self._left = MOST_OPERATIONS

    def text(self, page: PageObject) -> str:
        """The text of a page; the page is changed.

        Where its tables cannot be found, because drawing is broken or there is too much of it, it is as pypdf
        reads it.
        """
        content = _content(page)
        text = page.extract_text()
        if content is None or not text:
            return text
        self._left -= len(content.operations)
        if self._left < 0:
            return text
        try:
            found = placed(page, content)
            tables = ruled_tables(found)
            tables += aligned_tables(found, {id(text) for table in tables for text in table.texts()})
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return text
        return _with_tables(found, tables) if tables else text


def _with_tables(page: Placed, tables: list[Table]) -> str:
    """The texts of a page in their order; a table stands where the first of its texts does."""
    home = {id(text): table for table in tables for text in table.texts()}
    written: set[int] = set()
    parts = []
    for text in page.texts:
        table = home.get(id(text))
        if table is None:
            parts.append(text.raw)
        elif id(table) not in written:
            written.add(id(table))
            parts.append(f"\n\n{table.markdown()}\n\n")
    return _EMPTY_LINES.sub("\n\n", "".join(parts))


def _content(page: PageObject) -> ContentStream | None:
    """The content of a page, parsed once for both readings; None if it has none."""
    try:
        content = ContentStream(page["/Contents"].get_object(), page.pdf, "bytes")
    except (AttributeError, KeyError):
        return None
    page[NameObject("/Contents")] = content
    return content
