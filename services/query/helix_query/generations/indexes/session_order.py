"""The order of memories inside their sessions, for packing neighbours and for answers to questions.

Memories are ordered by session, then event sequence, then ordinal. A memory without a session is ordered
with the others of its event, so the pieces of a document are together. Tenants never mix.

Each segment of the signals is sorted once, before its first generation is served. Generations share
segments, so a swap sorts only new ones. A request finds its session by binary search and orders no more
than the part it asks for. The same segments know which of their memories answer which question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from helix_query.generations.sorted_run import Groups, SortedRun, group_of
from helix_shared.artifacts.distinct import distinct
from helix_shared.artifacts.graph.base import flat
from helix_shared.artifacts.signals.columns import code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals
    from helix_shared.artifacts.signals.segments import Segment


@dataclass(frozen=True, slots=True)
class SessionPart:
    """A session, or the part of it around one memory, in order."""

    ordinals: NDArray[np.int64]
    place: int
    """Index of the memory asked for."""
    is_whole: bool
    """Whether this is the whole session."""


@dataclass(frozen=True, slots=True, eq=False)
class SegmentOrder:
    """The rows of one segment, ordered by session and event sequence."""

    segment: Segment
    sessions: Groups
    """Where each session is in `rows`."""
    rows: NDArray[np.int32]
    sequences: NDArray[np.int64]
    """Event sequences beside `rows`, ascending inside a session."""
    answers: NDArray[np.int64]
    """`answers_code` of the rows that answer a question, ascending."""
    answering: NDArray[np.int32]
    """The rows beside `answers`."""

    @classmethod
    def of(cls, segment: Segment, signals: Signals) -> Self:
        """Sort a segment of `signals`; its ordinals ascend, also inside one event.

        Rows that a later segment replaced are sorted too; `around` passes over them.
        """
        columns = {name: getattr(signals, name)[segment.ordinals] for name in _COLUMNS}
        groups, sequences = _groups(columns), columns["stream_sequence"]
        order = np.lexsort((sequences, groups))
        answers = signals.answers_code[segment.ordinals]
        answering = np.flatnonzero(answers)
        answering = answering[np.argsort(answers[answering], kind="stable")]
        return cls(
            segment,
            Groups.of(groups[order]),
            order.astype(np.int32),
            sequences[order],
            answers[answering],
            answering.astype(np.int32),
        )

    def place(self, first: int, last: int, sequence: int, ordinal: int) -> int:
        """Index of a memory in the session at `first:last`, or where it would be inserted."""
        low, high = first + np.searchsorted(self.sequences[first:last], [sequence, sequence + 1])
        return int(low + np.searchsorted(self.segment.ordinals[self.rows[low:high]], ordinal))


@dataclass(frozen=True, slots=True, eq=False)
class SessionOrder:
    """The session order of a generation: one `SegmentOrder` a segment of its signals."""

    segments: tuple[SegmentOrder, ...] = ()

    @classmethod
    def of(cls, signals: Signals, *, previous: SessionOrder | None = None) -> Self:
        """The order of `signals`; segments that `previous` has sorted are not sorted again."""
        sorted_before = {} if previous is None else {id(one.segment): one for one in previous.segments}
        return cls(
            tuple(
                sorted_before.get(id(segment)) or SegmentOrder.of(segment, signals)
                for segment in signals.segments
            )
        )

    def around(self, ordinal: int, signals: Signals, *, reach: int) -> SessionPart:
        """Up to `reach` memories before and after a memory in its session.

        `signals` are those of the generation. A memory that was rewritten is ordered by its last row.
        """
        here = np.array([ordinal])
        columns = {name: getattr(signals, name)[here] for name in _COLUMNS}
        [group], sequence = _groups(columns), int(columns["stream_sequence"][0])
        before, after = [], []
        for number, segment in enumerate(self.segments):
            first, last = segment.sessions.span(group)
            if first == last:
                continue
            place = segment.place(first, last, sequence, ordinal)
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

    def runs(self, signals: Signals, tenant_id: str, session_id: str) -> list[SortedRun]:
        """The memories of a session by event sequence; none without a session."""
        if not session_id:
            return []
        [group] = group_of(np.array([code(tenant_id)], np.int64), np.array([code(session_id)], np.int64))
        found = []
        for start, one in zip(signals.starts.tolist(), self.segments, strict=False):
            first, last = one.sessions.span(group)
            if first < last:
                found.append(SortedRun(one.sequences[first:last], one.rows[first:last], one.segment, start))
        return found

    def members(
        self, groups: NDArray[np.uint64], signals: Signals
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs [m]: the place of a session (`group_of`) in `groups`, and a memory of it; in any order.

        `signals` are those of the generation.
        """
        places, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for start, one in zip(signals.starts.tolist(), self.segments, strict=False):
            keys, starts = one.sessions.keys, one.sessions.starts
            if not len(keys):
                continue
            at = np.minimum(keys.searchsorted(groups), len(keys) - 1)
            here = np.flatnonzero(keys[at] == groups)
            firsts, counts = starts[at[here]], starts[at[here] + 1] - starts[at[here]]
            rows = one.rows[flat(firsts, counts)]
            ordinals = one.segment.ordinals[rows]
            # rows that a later segment replaced are left out
            live = signals.rows[ordinals] == start + rows
            places.append(np.repeat(here, counts)[live])
            found.append(ordinals[live])
        return np.concatenate(places), np.concatenate(found)

    def answers_to(self, codes: NDArray[np.int64], signals: Signals) -> NDArray[np.int64]:
        """Memories, ascending, that answer a question of one of these codes (`Signals.source_code`).

        `signals` are those of the generation. Only the turn after a question answers it, so they are few.
        """
        found = [np.empty(0, np.int64)]
        for start, order in zip(signals.starts.tolist(), self.segments, strict=False):
            firsts = order.answers.searchsorted(codes)
            counts = order.answers.searchsorted(codes, side="right") - firsts
            if counts.any():
                rows = order.answering[flat(firsts, counts)]
                ordinals = order.segment.ordinals[rows]
                # rows that a later segment replaced are left out
                found.append(ordinals[signals.rows[ordinals] == start + rows])
        return distinct(*found)

    def _nearest(
        self, number: int, signals: Signals, first: int, last: int, count: int, *, backwards: bool
    ) -> NDArray[np.int64]:
        """At least `count` ordinals of `first:last` of a segment from one end, or all if there are fewer.

        Rows that a later segment replaced are left out.
        """
        order, taken = self.segments[number], count
        while True:
            start, end = (max(first, last - taken), last) if backwards else (first, min(last, first + taken))
            rows = order.rows[start:end]
            ordinals = order.segment.ordinals[rows]
            found: NDArray[np.int64] = ordinals[signals.rows[ordinals] == signals.starts[number] + rows]
            if len(found) >= count or end - start == last - first:
                return found
            taken *= 2


_COLUMNS: Final = ("tenant_code", "session_code", "stream_sequence")


def _groups(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
    """A hash of tenant and session of each row of `_COLUMNS`."""
    tenant, session, sequence = (columns[name] for name in _COLUMNS)
    # Session codes are never negative, so ~sequence cannot meet one.
    return group_of(tenant, np.where(session == 0, ~sequence, session))


def _in_order(parts: Sequence[NDArray[np.int64]], signals: Signals) -> NDArray[np.int64]:
    ordinals = np.concatenate([np.empty(0, np.int64), *parts])
    ordered: NDArray[np.int64] = ordinals[np.lexsort((ordinals, signals.stream_sequence[ordinals]))]
    return ordered
