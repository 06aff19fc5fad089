"""What stands beside what: memories in the order they were said or written.

By session, inside it by event, inside that by piece; a memory of no session stands in the order of its
own event, so the pieces of a document are together. Tenants never mix. Two searches find a memory's
place; made once per generation, by the first recall that packs surroundings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals import Signals

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: an odd factor that spreads neighbouring codes (Knuth, TAOCP 6.4)."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A session, or the part of it around one memory, in reading order."""

    ordinals: NDArray[np.int64]
    place: int
    """Of the memory asked for."""
    is_whole: bool
    """Whether these are all of its session."""


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """All ordinals in reading order."""

    ordinals: NDArray[np.int32]
    groups: NDArray[np.uint64]
    """Ascending: the session that stands at each place."""
    places: NDArray[np.int32]
    """By ordinal."""

    @classmethod
    def of(cls, signals: Signals) -> Self:
        """From the signals; ordinals of one event rise with its pieces."""
        session, sequence = signals.session_code, signals.stream_sequence
        # Codes of sessions are never negative, so an event can stand for a session of its own.
        alone = np.where(session == 0, ~sequence, session).astype(np.uint64)
        groups = alone ^ (signals.tenant_code.astype(np.uint64) * _MIX)
        order = np.lexsort((sequence, groups))
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        return cls(order.astype(np.int32), groups[order], places)

    def around(self, ordinal: int, *, reach: int) -> Stretch:
        """The session of a memory, as far as `reach` places before and after it."""
        place = int(self.places[ordinal])
        start, end = np.searchsorted(self.groups, self.groups[place], side="left"), 0
        end = int(np.searchsorted(self.groups, self.groups[place], side="right"))
        first, last = max(int(start), place - reach), min(end, place + reach + 1)
        return Stretch(
            self.ordinals[first:last].astype(np.int64), place - first, last - first == end - int(start)
        )
