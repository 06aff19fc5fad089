"""Pieces of a document by its media type."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from helix_ingest.extraction.documents.front_matter import front_matter
from helix_ingest.extraction.documents.html_page import html_page
from helix_ingest.extraction.documents.languages import language_of
from helix_ingest.extraction.documents.pdf import pdf_pages
from helix_ingest.extraction.segment import MOST_SECTIONS, segment
from helix_ingest.extraction.values import Piece
from helix_memory import limits
from helix_memory.events import DocumentEvent
from helix_shared.errors import InvalidInputError

_HTML: Final = ("text/html", "application/xhtml+xml")
_MARKDOWN: Final = "text/markdown"
_MOST_PIECES: Final = 2 * MOST_SECTIONS
"""A document of more pieces is cut without its headings."""


def document_pieces(
    event: DocumentEvent, *, most_tokens: int, count_tokens: Callable[[str], int]
) -> list[Piece]:
    """Pieces of at most `most_tokens` tokens; offsets refer to body, joined parts or extracted text.

    Raises:
        InvalidInputError: the source cannot be read or holds no text; names the field.
    """
    if event.body_base64:
        pages = pdf_pages(event.body_base64)
        _check_length("body_base64", sum(map(len, pages)))
        return _paged(pages, most_tokens, count_tokens)
    cut = _cutter(event, most_tokens, count_tokens, headings=event.media_type != "text/plain")
    pieces = _pieces(event, cut)
    if len(pieces) > _MOST_PIECES:
        pieces = _pieces(event, _cutter(event, most_tokens, count_tokens, headings=False))
    if not pieces:
        raise InvalidInputError("body" if event.body else "parts", "holds no text that can be read")
    return pieces


def _cutter(
    event: DocumentEvent, most_tokens: int, count_tokens: Callable[[str], int], *, headings: bool
) -> Callable[[str], list[Piece]]:
    """How a text of the document is cut: as source code, at its headings, or as text without headings."""
    language = language_of(event.media_type, event.source_uri, event.title)

    def cut(text: str) -> list[Piece]:
        if language:
            from helix_ingest.extraction.documents.code import code_pieces  # noqa: PLC0415  loads grammars

            return code_pieces(text, language, most_tokens=most_tokens, count_tokens=count_tokens)
        return segment(text, most_tokens=most_tokens, count_tokens=count_tokens, headings=headings)

    return cut


def _pieces(event: DocumentEvent, cut: Callable[[str], list[Piece]]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for field, heading, source in _sources(event):
        text = source
        if event.media_type in _HTML:
            text = html_page(source, field).text
        _check_length(field, at + len(text))
        begin = at + (_text_start(event) if at == 0 else 0)
        at += len(text)
        text = text[len(text) - (at - begin) :]
        for piece in cut(text) if text.strip() else ():
            path = " > ".join(name for name in (heading, piece.heading) if name)
            pieces.append(replace(piece, start=begin + piece.start, end=begin + piece.end, heading=path))
    return pieces


def about_document(event: DocumentEvent) -> str:
    """What the front matter of a Markdown document tells about it: its keys and values, one a line."""
    return front_matter(_sources(event)[0][2]).lines if _text_start(event) else ""


def _text_start(event: DocumentEvent) -> int:
    """Where the text behind the front matter begins; 0 if there is none, or no text behind it."""
    if event.media_type != _MARKDOWN:
        return 0
    first, *others = (text for _, _, text in _sources(event))
    end = front_matter(first).end
    return end if first[end:].strip() or any(text.strip() for text in others) else 0


def _sources(event: DocumentEvent) -> list[tuple[str, str, str]]:
    """Field, heading and text of each part; the body is one part."""
    if not event.parts:
        return [("body", "", event.body)]
    return [(f"parts.{n}.text", part.heading, part.text) for n, part in enumerate(event.parts)]


def _paged(pages: Sequence[str], most_tokens: int, count_tokens: Callable[[str], int]) -> list[Piece]:
    """Pieces of the pages' texts joined by empty lines; the heading of each is the page where it begins."""
    starts, at = [], 0
    for page in pages:
        starts.append(at)
        at += len(page) + 2
    pieces = segment("\n\n".join(pages), most_tokens=most_tokens, count_tokens=count_tokens, headings=False)
    return [replace(piece, heading=f"page {bisect_right(starts, piece.start)}") for piece in pieces]


def _check_length(field: str, characters: int) -> None:
    if characters > limits.EXTRACTED_CHARACTERS:
        raise InvalidInputError(field, f"gives more than {limits.EXTRACTED_CHARACTERS} characters of text")
