"""What stands beside what: memories in the order they were said or written.

By session, inside it by event, inside that by piece; a memory of no session stands in the order of its own
event, so the pieces of a document are together. Tenants never mix.

Each segment of the signals is sorted once in its life, before a generation that holds it is served: a
generation shares its segments with the one before, so a swap costs what is new. A request looks up its
sessions by binary search and orders no more than the stretch it asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals
    from helix_shared.artifacts.signals.segments import Segment

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: an odd factor that spreads neighbouring codes (Knuth, TAOCP 6.4)."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """A session, or the part of it around one memory, in reading order."""

    ordinals: NDArray[np.int64]
    place: int
    """Of the memory asked for."""
    is_whole: bool
    """Whether these are all of its session."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentOrder:
    """The rows of one segment in reading order, session by session."""

    segment: Segment
    groups: NDArray[np.uint64]
    """The sessions, ascending."""
    starts: NDArray[np.int64]
    """Where each session begins in `rows`, and where the last one ends."""
    rows: NDArray[np.int32]
    sequences: NDArray[np.int64]
    """Event sequence by place, ascending inside a session."""

    @classmethod
    def of(cls, segment: Segment, signals: Signals) -> Self:
        """Sort a segment of `signals`; its ordinals ascend, and those of one event rise with its pieces.

        By the columns that are in memory: a row that a later segment replaced counts nowhere.
        """
        columns = {name: getattr(signals, name)[segment.ordinals] for name in _COLUMNS}
        groups, sequences = _groups(columns), columns["stream_sequence"]
        order = np.lexsort((sequences, groups))
        groups = groups[order]
        is_first = np.ones(len(groups), bool)
        np.not_equal(groups[1:], groups[:-1], out=is_first[1:])
        firsts = np.flatnonzero(is_first)
        return cls(
            segment,
            groups[firsts],
            np.append(firsts, len(groups)),
            order.astype(np.int32),
            sequences[order],
        )

    def session(self, group: np.uint64) -> tuple[int, int]:
        """First place of a session and the one after its last; equal where it has no row here."""
        found = int(np.searchsorted(self.groups, group))
        if found == len(self.groups) or self.groups[found] != group:
            return 0, 0
        return int(self.starts[found]), int(self.starts[found + 1])

    def place(self, first: int, last: int, sequence: int, ordinal: int) -> int:
        """Where in the session at `first:last` a memory stands, or would stand."""
        low, high = first + np.searchsorted(self.sequences[first:last], [sequence, sequence + 1])
        return int(low + np.searchsorted(self.segment.ordinals[self.rows[low:high]], ordinal))


@dataclass(frozen=True, slots=True, eq=False)
class SessionOrder:
    """The reading order of a generation, by the segments of its signals."""

    pieces: tuple[SegmentOrder, ...] = ()

    @classmethod
    def of(cls, signals: Signals, *, known: SessionOrder | None = None) -> Self:
        """That of `signals`; segments that `known`, of an earlier generation, has are not sorted again."""
        sorted_already = {} if known is None else {id(piece.segment): piece for piece in known.pieces}
        return cls(
            tuple(
                sorted_already.get(id(segment)) or SegmentOrder.of(segment, signals)
                for segment in signals.segments
            )
        )

    def around(self, ordinal: int, signals: Signals, *, reach: int) -> SessionPart:
        """The session of a memory, as far as `reach` places before and after it.

        `signals` are those of the generation. A memory that was written again stands where its last row says.
        """
        here = np.array([ordinal])
        columns = {name: getattr(signals, name)[here] for name in _COLUMNS}
        [group], sequence = _groups(columns), int(columns["stream_sequence"][0])
        before, after = [], []
        for number, piece in enumerate(self.pieces):
            first, last = piece.session(group)
            if first == last:
                continue
            place = piece.place(first, last, sequence, ordinal)
            before.append(self._nearest(number, signals, first, place, reach + 1, backwards=True))
            # one more, because the memory itself is among them
            after.append(self._nearest(number, signals, place, last, reach + 2, backwards=False))
        earlier, later = _in_order(before, signals), _in_order(after, signals)[1:]
        place = min(len(earlier), reach)
        return SessionPart(
            np.concatenate([earlier[len(earlier) - place :], here, later[:reach]]),
            place,
            max(len(earlier), len(later)) <= reach,
        )

    def _nearest(
        self, number: int, signals: Signals, first: int, last: int, count: int, *, backwards: bool
    ) -> NDArray[np.int64]:
        """At least `count` ordinals of the places `first:last` of a piece, from one end; else all of them.

        Rows that a later segment replaced are passed over.
        """
        piece, taken = self.pieces[number], count
        while True:
            start, end = (max(first, last - taken), last) if backwards else (first, min(last, first + taken))
            rows = piece.rows[start:end]
            ordinals = piece.segment.ordinals[rows]
            found: NDArray[np.int64] = ordinals[signals.rows[ordinals] == signals.starts[number] + rows]
            if len(found) >= count or end - start == last - first:
                return found
            taken *= 2


_COLUMNS: Final = ("tenant_code", "session_code", "stream_sequence")


def _groups(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
    """What stands for a memory's session, by rows of `_COLUMNS`."""
    tenant, session, sequence = (columns[name] for name in _COLUMNS)
    # Codes of sessions are never negative, so an event can stand for a session of its own.
    alone: NDArray[np.uint64] = np.where(session == 0, ~sequence, session).astype(np.uint64)
    return alone ^ (tenant.astype(np.uint64) * _MIX)


def _in_order(parts: Sequence[NDArray[np.int64]], signals: Signals) -> NDArray[np.int64]:
    ordinals = np.concatenate([np.empty(0, np.int64), *parts])
    ordered: NDArray[np.int64] = ordinals[np.lexsort((ordinals, signals.stream_sequence[ordinals]))]
    return ordered
