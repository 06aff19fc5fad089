"""Stage 8: whole memories into a token budget, laid out so that the best are not buried.

Models read the two ends of a long context best (Liu et al. 2023, "Lost in the Middle"), hence
outside-in: best first, second last, third after the first. Every memory is headed by its citation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from helix_query.pool import Entry, Packed

CountTokens = Callable[[str], int]
Item = TypeVar("Item")

BETWEEN = "\n\n"


def pack(entries: Sequence[Entry], *, token_budget: int, count_tokens: CountTokens) -> Packed:
    """As many of `entries` (best first) as fit, whole; one that does not fit is passed over.

    The tokens of the finished text never exceed `token_budget`. Texts bring their own counts, so only
    headings and the finished text are counted here.
    """
    widest = len(entries)
    fitting: list[Entry] = []
    used = 0
    for entry in entries:
        needed = entry.tokens + count_tokens(f"{_head(entry, widest)}{BETWEEN}")
        if used + needed <= token_budget:
            fitting.append(entry)
            used += needed
    # Tokenizers may count a whole differently from its parts; the whole is what the caller pays for.
    while fitting and (tokens := count_tokens(_laid_out(fitting))) > token_budget:
        fitting.pop()
    if not fitting:
        return Packed()
    ids = tuple(entry.memory_id for entry in outside_in(fitting))
    return Packed(_laid_out(fitting), ids, tokens)


def outside_in(items: Sequence[Item]) -> list[Item]:
    """Best at the start, second at the end, third after the first, and so on."""
    return [*items[::2], *reversed(items[1::2])]


def _laid_out(entries: Sequence[Entry]) -> str:
    return BETWEEN.join(_cited(entry, number) for number, entry in enumerate(outside_in(entries), start=1))


def _cited(entry: Entry, number: int) -> str:
    return f"{_head(entry, number)}{entry.text}"


def _head(entry: Entry, number: int) -> str:
    return f"[{number}] {entry.heading}\n" if entry.heading else f"[{number}] "
