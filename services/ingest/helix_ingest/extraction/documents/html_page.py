"""Title and text of an HTML page; a page of many tags is read in a child process (`html_process`).

The parser takes quadratic time for some nested elements, and quadratic memory for some elements that never
close. How deep they nest cannot be told before parsing: it depends on comments, attributes and the rules for
tags that do not match. The number of tags bounds both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from helix_ingest.extraction.documents.limited import Reader, answer_of

MOST_TAGS: Final = 500
"""Tags of a page that is read in this process."""
READER: Final = Reader("helix_ingest.extraction.documents.html_process", "HTML page", cpu_seconds=5)
_TAG: Final = re.compile(r"<[a-zA-Z/]")


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """The title in one line, "" if the page names none, and the text as Markdown, "" if it shows none."""

    title: str
    text: str


def html_page(source: str, field: str = "body") -> HtmlPage:
    """Title and text of a page or a fragment, which stands in `field` of its event.

    Raises:
        InvalidInputError: the text is longer than `EXTRACTED_CHARACTERS`, or the page breaks a limit.
        TemporaryError: the machine is too busy to read it, or the reader cannot be started.
    """
    if sum(1 for _ in _TAG.finditer(source)) > MOST_TAGS:
        return HtmlPage(**answer_of(READER, source.encode("utf-8", "surrogatepass"), field))
    from helix_ingest.extraction.documents.html import read_html  # noqa: PLC0415  loads a parser

    return HtmlPage(*read_html(source, field))
