"""Reads PDF files. One that fits into an event is published as it is, of a larger one the text of its pages.

Every file is read here, so that one that ingest would refuse is reported by its name.
"""

from __future__ import annotations

import base64
from pathlib import Path

from helix_cli.sources.documents.document import Content, packed
from helix_memory import limits
from helix_shared.sources.fitting import pieces


def pdf_content(path: Path, source: bytes) -> Content:
    """A file; its title is its name. Of a large file, a part is a page.

    Raises:
        InvalidInputError: it is broken, encrypted, too long, or has no text.
        TemporaryError: the machine is too busy to read it.
    """
    from helix_ingest.extraction.documents.pdf import pdf_pages  # noqa: PLC0415  rarely needed

    encoded = base64.b64encode(source).decode()
    pages = pdf_pages(encoded)
    if len(source) <= limits.DOCUMENT_BYTES:
        return Content(path.stem, "application/pdf", [{"body_base64": encoded}])
    parts = (
        {"heading": f"page {number}", "text": piece}
        for number, page in enumerate(pages, start=1)
        for piece in pieces(page)
        if piece.strip()
    )
    return Content(path.stem, "text/plain", packed(parts))
