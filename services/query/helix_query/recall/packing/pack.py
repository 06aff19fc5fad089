"""Stage 8: whole memories into a token budget, laid out so that the best are not buried.

Models read the two ends of a long context best (Liu et al. 2023, "Lost in the Middle"), hence
outside-in: best first, second last, third after the first. Every memory is headed by its citation.
`surround` puts what stands around them into what is left of the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from helix_query.recall.candidates import Entry, Packed

CountTokens = Callable[[str], int]
Item = TypeVar("Item")
Block = tuple[str, Entry]
"""A memory under its mark, as it stands in the text."""

BETWEEN: Final = "\n\n"


class TokenCounter:
    """Counts the tokens of a context; of the parts of one that come again, once.

    Where a tokenizer's counts add up over white space (`Encoder.counts_add_up`) the sum of the parts is the
    exact count of the whole, and only marks and headings are counted: texts bring their own. Else the sum is
    an estimate, and the finished text is counted.
    """

    def __init__(self, count_tokens: CountTokens, *, adds_up: bool = False) -> None:
        self._count = count_tokens
        self._adds_up = adds_up
        self._known: dict[str, int] = {}

    def block(self, mark: str, entry: Entry) -> int:
        """Tokens of a memory under its mark."""
        return self._part(mark) + self._part(f"{entry.heading}{BETWEEN}") + entry.tokens

    def whole(self, blocks: Sequence[Block]) -> int:
        """Tokens of the finished text, exactly."""
        if not self._adds_up:
            return self._count(text_of(blocks))
        # One call for all marks: each occurs once, so remembering them would not help.
        marks = self._count(" ".join(mark for mark, _ in blocks))
        return marks + sum(self.block("", entry) for _, entry in blocks)

    def _part(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._count(text) if text.strip() else 0
        return self._known[text]


def pack(entries: Sequence[Entry], *, token_budget: int, meter: TokenCounter) -> Packed:
    """As many of `entries` (best first) as fit, whole; one that does not fit is passed over.

    The tokens of the finished text never exceed `token_budget`.
    """
    widest = mark_of(len(entries))
    fitting: list[Entry] = []
    used = 0
    for entry in entries:
        if used + entry.tokens > token_budget:
            continue
        needed = meter.block(widest, entry)
        if used + needed <= token_budget:
            fitting.append(entry)
            used += needed
    # Tokenizers may count a whole differently from its parts; the whole is what the caller pays for.
    while fitting and (tokens := meter.whole(blocks_of(fitting))) > token_budget:
        fitting.pop()
    if not fitting:
        return Packed()
    blocks = blocks_of(fitting)
    return Packed(text_of(blocks), tuple(entry.memory_id for _, entry in blocks), tokens)


def outside_in(items: Sequence[Item]) -> list[Item]:
    """Best at the start, second at the end, third after the first, and so on."""
    return [*items[::2], *reversed(items[1::2])]


def blocks_of(entries: Sequence[Entry]) -> list[Block]:
    """Memories, best first, in the order of the text, each with its citation."""
    return [(mark_of(number), entry) for number, entry in enumerate(outside_in(entries), start=1)]


def mark_of(number: int, sign: str = "") -> str:
    """Citation of the memory `number`; with a sign, the mark of what stands before or after it."""
    return f"[{number}{sign}]"


def text_of(blocks: Iterable[Block]) -> str:
    """The finished text."""
    return BETWEEN.join(
        f"{mark} {entry.heading}\n{entry.text}" if entry.heading else f"{mark} {entry.text}"
        for mark, entry in blocks
    )
