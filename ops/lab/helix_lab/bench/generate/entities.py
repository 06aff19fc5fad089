"""Names that replace names: real ones first, then as many made of their parts as are needed.

The choice follows Zipf's law (rank r with probability 1/r), as names in real texts do. There are more names
the more memories there are.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from helix_shared.naming import Name, canonical

MEMORIES_PER_NAME: Final = 8
"""Memories for each new name."""
FEWEST: Final = 500
MADE: Final = ("name", "path", "symbol", "version", "error", "issue")
"""Kinds of names that can be made; dates and titles are not replaced."""

_PROPER = re.compile(r"\w[\w .'-]*")
"""A name as people write one; a fragment of quoted code does not match."""


@dataclass(frozen=True, slots=True)
class Entities:
    """The names of each kind of text and of name, most frequent first, and how many ranks there are."""

    known: dict[tuple[int, str], list[str]]
    ranks: int

    def drawn(self, about: int, kind: str, chance: float) -> str:
        """Surface of the name that `chance`, evenly drawn from [0, 1), means; empty where none can be made.

        `about` is what the text is about, an index into `base.KINDS`.
        """
        real = self.known.get((about, kind))
        if not real:
            return ""
        return _surface(kind, real, int(math.exp(chance * math.log(self.ranks))) - 1)


def entities_of(names: Iterable[tuple[int, Name]], memories: int) -> Entities:
    """Names for a corpus of `memories`, from those of the base texts, each with what its text is about."""
    counted: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for about, name in names:
        if name.kind in MADE and (name.kind != "name" or _PROPER.fullmatch(name.surface)):
            counted[about, name.kind][name.surface] += 1
    known = {kind: [surface for surface, _ in counts.most_common()] for kind, counts in counted.items()}
    return Entities(known, max(FEWEST, memories // MEMORIES_PER_NAME))


def _surface(kind: str, real: list[str], rank: int) -> str:
    turn, place = divmod(rank, len(real))
    first = real[place]
    if turn == 0:
        return first
    second = real[(place * 7 + turn * 13 + 1) % len(real)]
    match kind:
        case "name":
            return f"{first.split()[0]} {second.split()[-1]}{_letters(turn // 8)}"
        case "path":
            folder, _, _ = first.rpartition("/")
            stem, dot, ending = second.rpartition("/")[2].rpartition(".")
            return f"{folder or 'src'}/{stem}_{turn}{dot}{ending}"
        case "symbol":
            return f"{first}_{second.rpartition('.')[2].strip('_')}_{turn}"
        case "version":
            return f"{turn % 30}.{place % 40}.{(turn * 7 + place) % 60}"
        case _:
            return f"{first.rstrip('0123456789')}{100 + (place * 31 + turn * 17) % 9_900}"


def _letters(number: int) -> str:
    """An ending that keeps a made name pronounceable: 0 is none."""
    return "" if number == 0 else ("", "son", "sen", "ova", "ski", "ini", "berg", "well")[number % 8]


def spelt(surface: str) -> str:
    """Canonical form, as kg would write it."""
    return canonical(surface) or surface.lower()
