"""Texts of others, safe to look at: what is invisible or turns the line around is shown by its name."""

from __future__ import annotations

import functools
import re
import unicodedata
from datetime import UTC, datetime, tzinfo
from typing import Final

from markupsafe import Markup, escape

from helix_shared.text.hidden import CONTROLS, DIRECTIONS, INVISIBLE

ROW: Final = 280
"""Characters of a text in a list."""
WHOLE: Final = 4_000
"""Characters of a text on its own page, unless all are asked for."""
NAMED: Final = 60
"""Characters of a text in the title of its page."""
CUT: Final = Markup('<span class="more">…</span>')
"""What stands behind a text that was cut."""
_ALSO: Final = r"\r\x85\u00ad\u061c\u200e\u200f\u2028\u2029\u2065\u206a-\u206f\ud800-\udfff"
"""What is hidden and no sign of an attack by itself, so that a memory with it has no flag."""
_COMBINING: Final = r"\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
"""Marks that stand above or below a letter."""
_STACKED: Final = 4
"""Combining marks on one letter that are shown: no language needs more, and each one reaches higher."""
_HIDDEN: Final = re.compile(
    f"([{CONTROLS}{DIRECTIONS}{INVISIBLE}{_ALSO}])\\1*"
    f"|[{_COMBINING}](?<=[{_COMBINING}]{{{_STACKED + 1}}})[{_COMBINING}]*"
)
"""Controls but for tab and line feed, marks of direction, invisible characters; a run of one of them. And
combining marks that would cover the lines above and below."""
_NAMES: Final = {
    "\u202a": "LRE", "\u202b": "RLE", "\u202c": "PDF", "\u202d": "LRO", "\u202e": "RLO", "\u2066": "LRI",
    "\u2067": "RLI", "\u2068": "FSI", "\u2069": "PDI", "\u200e": "LRM", "\u200f": "RLM", "\u200b": "ZWSP",
}  # fmt: skip
_UNITS: Final = (("days", 86_400), ("h", 3_600), ("min", 60))
_C0: Final = 0x20
_CARET: Final = 0x40


def shown(text: str, limit: int = 0) -> Markup:
    """A text as markup, isolated from the direction of what is around it; cut after `limit` characters."""
    cut = bool(limit) and len(text) > limit
    part = (text[:limit] if cut else text).replace("\r\n", "\n")
    pieces: list[str] = []
    end = 0
    for found in _HIDDEN.finditer(part):
        count = found.end() - found.start()
        pieces += [escape(part[end : found.start()]), _mark(found[1], count) if found[1] else _stacked(count)]
        end = found.end()
    pieces.append(escape(part[end:]))
    more = CUT if cut else ""
    # every piece is escaped; `Markup.format` would take a sixth of the time of a page of the lab
    return Markup(f"<bdi>{''.join(pieces)}</bdi>{more}")  # noqa: S704


def one_line(text: str, limit: int) -> str:
    """A text for a label: a line without what is hidden, cut after `limit` characters."""
    line = _HIDDEN.sub("\ufffd", " ".join(text[: 4 * limit].split()))
    return line[: limit - 1] + "…" if len(line) > limit else line


def moment(value: datetime | None, zone: tzinfo) -> str:
    """A time to the minute in a zone; empty where there is none."""
    return "" if value is None else _in(value, zone).strftime("%Y-%m-%d %H:%M")


def stored_moment(text: str, zone: tzinfo) -> str:
    """As `moment`, of a time as NATS gives it, in UTC unless it says otherwise; other text as it is."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment(found if found.tzinfo else found.replace(tzinfo=UTC), zone)


def duration(seconds: float) -> str:
    """A length of time in its largest unit of which there are at least two."""
    for unit, length in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def day(value: datetime | None, zone: tzinfo) -> str:
    """The date of a time in a zone."""
    return "" if value is None else _in(value, zone).strftime("%Y-%m-%d")


def _in(value: datetime, zone: tzinfo) -> datetime:
    try:
        return value.astimezone(zone)
    except (OverflowError, ValueError):
        return value


@functools.lru_cache(maxsize=4_096)
def _mark(character: str, count: int) -> Markup:
    code = ord(character)
    name = _NAMES.get(character) or (f"^{chr(code ^ _CARET)}" if code < _C0 else f"U+{code:04X}")
    full = f"U+{code:04X} {unicodedata.name(character, '')}".strip()
    times = f"\N{MULTIPLICATION SIGN}{count}" if count > 1 else ""
    return Markup('<span class="mark" title="{}">{}{}</span>').format(full, name, times)


def _stacked(count: int) -> Markup:
    marks = "mark" if count == 1 else "marks"
    return Markup('<span class="mark" title="{0} more combining {1}">{0} {1}</span>').format(count, marks)
