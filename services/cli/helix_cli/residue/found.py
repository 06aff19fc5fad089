"""What a search for residue found, and what it could not read: a place that was not searched is not clean."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True, slots=True)
class Residue:
    """False where every place was searched and nothing was found."""

    counts: Counter[str] = field(default_factory=Counter)
    """How often something was found, by place."""
    unread: dict[str, str] = field(default_factory=dict)
    """Why a place could not be read."""

    def __bool__(self) -> bool:
        return bool(self.counts or self.unread)

    def __add__(self, other: Self) -> Residue:
        return Residue(self.counts + other.counts, self.unread | other.unread)
