"""Reads plain text and source code; a text larger than an event is cut at paragraphs or lines."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from helix_cli.sources.documents.document import Content, NothingToReadError, decoded, whole_or_cut
from helix_cli.sources.documents.formats import language_of_script
from helix_ingest.extraction.documents.languages import MEDIA_TYPES, language_of

MOST_CHARACTERS_A_LINE: Final = 300
"""Mean above which code was written by a program; nobody asks about minified code."""

_MEDIA_TYPE_OF: Final = {language: media_type for media_type, language in MEDIA_TYPES.items()} | {
    "tsx": "text/typescript"
}


def text_content(path: Path, source: bytes) -> Content:
    """A text; its title is the name of the file.

    Raises:
        InvalidInputError: it is neither UTF-8 nor UTF-16.
    """
    text = _shown(decoded(source))
    return Content(path.stem, "text/plain", whole_or_cut(text))


def code_content(path: Path, source: bytes) -> Content:
    """Source code, its language by the ending of the file or by its first line.

    Raises:
        InvalidInputError: it is neither UTF-8 nor UTF-16.
        NothingToReadError: a program wrote it.
    """
    text = _shown(decoded(source))
    if len(text) > MOST_CHARACTERS_A_LINE * (text.count("\n") + 1):
        raise NothingToReadError("files of minified or generated code")
    language = language_of("text/plain", "", path.name) or language_of_script(source)
    media_type = _MEDIA_TYPE_OF.get(language, "text/plain")
    return Content(path.name, media_type, whole_or_cut(text), {"type": "code"})


def _shown(text: str) -> str:
    if not text.strip():
        raise NothingToReadError("empty files")
    return text
