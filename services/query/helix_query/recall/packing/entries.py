"""The packed context in parts: memories as entries, their citations and headings, their tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from datetime import tzinfo

CountTokens = Callable[[str], int]

BETWEEN: Final = "\n\n"
REPLACED_BY: Final = "replaced_by"
"""Key of a replaced row with the row of what replaced it."""
QUOTED_CHARACTERS: Final = 120
"""Characters of a replacement that the heading of what it replaced quotes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory as the packed context shows it, without its citation."""

    memory_id: str
    heading: str
    text: str
    tokens: int
    """Tokens of the text alone, counted when it was written."""
    occurred_at: datetime | None = None


class Block(NamedTuple):
    """A memory under its mark, as the text shows it."""

    mark: str
    entry: Entry
    is_neighbour: bool = False
    """Whether it is there beside a recalled memory, and not recalled itself."""


def entry_of(row: Mapping[str, Any], zone: tzinfo | None) -> Entry:
    """The entry of a row for a caller in `zone`; None: UTC."""
    return Entry(
        row["memory_id"], heading_of(row, zone or UTC), row["text"], row["token_count"], row["occurred_at"]
    )


def heading_of(row: Mapping[str, Any], zone: tzinfo) -> str:
    """Date in `zone`, speaker or role, title, flags, and what replaced it: behind a citation number."""
    day = row["occurred_at"].astimezone(zone).date()
    flags = f"flagged: {' '.join(row['flags'])}" if row["flags"] else ""
    parts = [day.isoformat(), row["speaker"] or row["role"], row["title"], flags, _replaced(row, zone)]
    return ", ".join(part for part in parts if part)


def _replaced(row: Mapping[str, Any], zone: tzinfo) -> str:
    """When the memory was replaced and by what; empty if it was not, or if the replacement is not known."""
    later = row.get(REPLACED_BY)
    if later is None:
        return ""
    return f"replaced {later['occurred_at'].astimezone(zone).date()} by {quoted(later['text'])}"


def quoted(text: str) -> str:
    """The beginning of a text on one line, in quotation marks."""
    line = " ".join(text.split())
    end = "" if len(line) <= QUOTED_CHARACTERS else "\u2026"
    return f'"{line[: QUOTED_CHARACTERS - len(end)]}{end}"'


def mark_of(number: int, sign: str = "") -> str:
    """Citation of the memory `number`; with a sign, the mark of a memory packed before or after it."""
    return f"[{number}{sign}]"


class TokenCounter:
    """Counts the tokens of a context; each part that occurs again is counted once.

    Where a tokenizer's counts add up over white space (`Encoder.counts_add_up`) the sum of the parts is the
    exact count of the whole, and only marks and headings are counted: texts bring their own counts. Else the
    sum is an estimate, and the finished text is counted.
    """

    def __init__(self, count_tokens: CountTokens, *, adds_up: bool = False) -> None:
        self._count = count_tokens
        self._adds_up = adds_up
        self._counted: dict[str, int] = {}

    def block(self, mark: str, entry: Entry) -> int:
        """Tokens of a memory under its mark."""
        return self._part(mark) + self._part(f"{entry.heading}{BETWEEN}") + entry.tokens

    def whole(self, blocks: Sequence[Block]) -> int:
        """Tokens of the finished text, exactly."""
        if not self._adds_up:
            return self._count(text_of(blocks))
        # One call for all marks: each occurs once, so remembering them would not help.
        marks = self._count(" ".join(one.mark for one in blocks))
        return marks + sum(self.block("", one.entry) for one in blocks)

    def _part(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._count(text) if text.strip() else 0
        return self._counted[text]


def text_of(blocks: Iterable[Block]) -> str:
    """The finished text."""
    return BETWEEN.join(
        f"{mark} {entry.heading}\n{entry.text}" if entry.heading else f"{mark} {entry.text}"
        for mark, entry, _ in blocks
    )


def budget_for(memory_id: str, entries: Sequence[Entry], *, token_budget: int, counter: TokenCounter) -> int:
    """The least budget from `token_budget` on with which stage 8 packs the memory.

    The better entries before it that fit are packed too. Where counts do not add up this is an estimate.
    """
    widest = mark_of(len(entries))
    needs = [counter.block(widest, entry) for entry in entries]
    own = next(place for place, entry in enumerate(entries) if entry.memory_id == memory_id)
    while True:
        used = 0
        for need in needs[:own]:
            used += need if used + need <= token_budget else 0
        if used + needs[own] <= token_budget:
            return token_budget
        token_budget = used + needs[own]
