"""The child process of `pdf`: a PDF file on standard input, the texts of its pages as JSON."""

from __future__ import annotations

import io
import re
from typing import Final

from pypdf import PdfReader

from helix_ingest.extraction.documents.limited_process import answer_with
from helix_ingest.extraction.documents.pdf_tables.page import PageReader
from helix_memory import limits

_SPACES: Final = re.compile(r"[ \t\u00a0]+")


def read(source: bytes) -> dict[str, list[str] | str]:
    """Pages of a file, or why it is refused."""
    try:
        reader = PdfReader(io.BytesIO(source))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"refused": "is encrypted; publish it without a password"}
        if len(reader.pages) > limits.PDF_PAGES:
            return {"refused": f"has {len(reader.pages)} pages, more than {limits.PDF_PAGES}"}
        pages: list[str] = []
        characters, texts = 0, PageReader()
        for page in reader.pages:
            pages.append(_clean(texts.text(page)))
            characters += len(pages[-1])
            if characters > limits.EXTRACTED_CHARACTERS:
                return {"refused": f"gives more than {limits.EXTRACTED_CHARACTERS} characters of text"}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  pypdf raises errors of many kinds for broken files
        return {"refused": f"is no PDF file that can be read ({type(error).__name__})"}
    return {"pages": pages}


def _clean(text: str) -> str:
    """Text without NUL, lone surrogates and white space at the ends of its lines."""
    valid = text.encode("utf-8", "ignore").decode().replace("\x00", "")
    return "\n".join(_SPACES.sub(" ", line).strip() for line in valid.splitlines()).strip()


if __name__ == "__main__":
    answer_with(read)
