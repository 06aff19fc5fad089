"""Texts of the pages of a PDF file, read in a child process (`pdf_process`)."""

from __future__ import annotations

import base64
from typing import Final

from helix_ingest.extraction.documents.limited import Reader, answer_of
from helix_shared.errors import InvalidInputError

FIELD: Final = "body_base64"
READER: Final = Reader("helix_ingest.extraction.documents.pdf_process", "PDF file", cpu_seconds=20)


def pdf_pages(body_base64: str) -> list[str]:
    """Text of each page in order; "" for a page without text. Tables are Markdown.

    Raises:
        InvalidInputError: the file is broken or encrypted, breaks a limit, or has no text.
        TemporaryError: the machine is too busy to read it, or the reader cannot be started.
    """
    source = base64.b64decode(body_base64, validate=True)
    if b"%PDF-" not in source[:1024]:
        raise InvalidInputError(FIELD, "is no PDF file")
    pages: list[str] = answer_of(READER, source, FIELD)["pages"]
    if not any(page.strip() for page in pages):
        raise InvalidInputError(FIELD, "holds no text; recognise the text of scanned pages first")
    return pages
