"""The child process of `pdf`: a PDF file on standard input, the texts of its pages as JSON.

A word that is divided at the end of a line is put together, so that a search finds it.
"""

from __future__ import annotations

import io
import re
from typing import Final

from pypdf import PdfReader

from helix_ingest.extraction.documents.limited_process import answer_with
from helix_ingest.extraction.documents.pdf_tables.page import PageReader
from helix_memory import limits
from helix_shared.naming.frequency import is_common

_SPACES: Final = re.compile(r"[ \t\u00a0]+")
_DIVIDED: Final = re.compile(r"(?<![\w-])([^\W\d_]{2,40})[-\u2010\u00ad]\n([^\W\d_]{2,40})(?![\w-])")
_WITH_HYPHEN: Final = frozenset({"all", "ex", "half", "self"})
"""First parts of words that keep their hyphen."""


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
    lines = "\n".join(_SPACES.sub(" ", line).strip() for line in valid.splitlines())
    return with_whole_words(lines).strip()


def with_whole_words(text: str) -> str:
    """The text with the words whole that are divided at the ends of its lines."""
    return _DIVIDED.sub(_whole, text)


def _whole(divided: re.Match[str]) -> str:
    """The word of two lines; one of two words ("well-known") keeps its hyphen, one before a name its line."""
    first, second = divided[1], divided[2]
    if not second.islower():
        return divided[0]
    low = first.lower()
    is_compound = low in _WITH_HYPHEN or (
        is_common(low) and is_common(second) and not is_common(low + second)
    )
    return f"{first}-{second}" if is_compound else f"{first}{second}"


if __name__ == "__main__":
    answer_with(read)
