"""Reads HTML pages; of a page larger than an event, its text as Markdown.

The encoding of a page is found as a browser does: byte order mark, `charset` in the first bytes, UTF-8, and
else windows-1252 (WHATWG HTML, "determining the character encoding").
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Final

from helix_cli.sources.documents.document import Content, NothingToReadError
from helix_cli.sources.documents.markdown import contents, title_of
from helix_shared.sources.fitting import fits

CHARSET_BYTES: Final = 1_024
_CHARSET: Final = re.compile(
    rb"<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)
_LATIN: Final = ("iso8859-1", "ascii")
"""Names that pages use for windows-1252."""
_FALLBACK: Final = "windows-1252"


def html_content(path: Path, source: bytes) -> Content:
    """A page; its title is that of the page, else its first heading, else the name of the file.

    Raises:
        InvalidInputError: its text is too long, or it breaks another limit.
        TemporaryError: the machine is too busy to read it.
        NothingToReadError: it shows no text.
    """
    from helix_ingest.extraction.documents.html_page import html_page  # noqa: PLC0415  rarely needed

    source_page = decoded_page(source)
    page = html_page(source_page)
    if not page.text.strip():
        raise NothingToReadError("HTML pages without text")
    title = page.title or title_of(page.text, path.stem)
    if fits(source_page):
        return Content(title, "text/html", [{"body": source_page}])
    return Content(title, "text/markdown", contents(page.text))


def decoded_page(source: bytes) -> str:
    """The characters of a page."""
    if source[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return source.decode("utf-16", "replace")
    named = _CHARSET.search(source[:CHARSET_BYTES])
    for encoding in (named[1].decode("ascii", "replace") if named else "", "utf-8"):
        try:
            return source.decode(_known(encoding))
        except (LookupError, UnicodeError):
            continue
    return source.decode(_FALLBACK, "replace")


def _known(encoding: str) -> str:
    """The codec of a name that a page gives; raises LookupError for what is no text encoding."""
    name = codecs.lookup(encoding).name
    if name.startswith("utf-16"):
        return "utf-8"  # the page could be read so far, so it is not in UTF-16
    return _FALLBACK if name in _LATIN else name
