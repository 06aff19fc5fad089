"""The statements of a user about themself, read from the memories that have facets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.generations.indexes.facet_index import DYNAMIC, PROFILE_PARTS, ProfilePart
from helix_query.recall.packing.rows import with_signals
from helix_query.recall.user_profile.lines import Statement
from helix_query.recall.user_profile.others import is_about_another
from helix_shared.artifacts.signals.columns import NO_TIME, code
from helix_shared.moments import MICROSECONDS_PER_DAY, microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.generations.indexes.facet_index import FacetIndex
    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.filter.selection import Selection
    from helix_shared.artifacts.signals.reader import Signals

FIRST_CHECKED: Final = 512
"""Strongest memories of a part that are checked first; then more, until `MAX_READ` of them are visible.

Chosen by hand: several times `MAX_READ`.
"""
MAX_READ: Final = 80
"""Strongest visible memories of a part that are read: two to four times as many as a profile shows."""
SCORE_PERIOD: Final = 3_600_000_000
"""Microseconds after which scores are computed anew; a score of the dynamic part loses .1 % in them."""
UNSAFE_FLAGS: Final = frozenset(("instruction", "secret"))
"""A memory with one of these is in no profile, which is put before prompts without being asked for."""


@dataclass(frozen=True, slots=True)
class PartMemories:
    """The memories that one part of a profile is made of: ordinals and scores, best first."""

    part: ProfilePart
    scores: tuple[tuple[int, float], ...]


def chosen_of(
    snapshot: Snapshot, visibility: Visibility, moment: datetime, *, deadline: float = math.inf
) -> tuple[PartMemories, ...]:
    """The strongest visible memories of the user of `visibility` for each part.

    Those of a user are the user's own, shared ones included; without a user, all that everyone may recall.
    Visibility is that at `moment`. Scores are those at the beginning of its hour, except of a past one. It
    reads columns, and once for each shared memory who said it.

    Raises:
        OverdueError: `deadline`, a moment of the monotonic clock, has passed.
    """
    selection, signals = visibility.selection, snapshot.generation.signals
    index, now, tenant = snapshot.facet_index.value, microseconds(moment), code(selection.tenant_id)
    shared = index.of_owner(tenant, code(""))
    owned = [shared]
    if selection.user_id:
        said_by = snapshot.authors.of(index.ordinals[shared], signals, deadline=deadline)
        user = code(selection.user_id)
        owned = [shared[said_by == user], index.of_owner(tenant, user)]
    chosen: list[PartMemories] = []
    for part in PROFILE_PARTS:
        found = [_strongest(index, part, places, now, visibility) for places in owned]
        ordinals, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        best = np.lexsort((ordinals, signals.stream_sequence[ordinals], -scores))
        pairs = zip(ordinals[best].tolist(), scores[best].tolist(), strict=True)
        chosen.append(PartMemories(part, tuple(pairs)))
    return tuple(chosen)


def statements_of(
    snapshot: Snapshot, selection: Selection, chosen: Iterable[PartMemories]
) -> list[Statement]:
    """The statements of the selection's user in the chosen memories, in any order; reads their rows."""
    signals, user = snapshot.generation.signals, selection.user_id
    found: list[Statement] = []
    for one in chosen:
        ordinals = np.array([ordinal for ordinal, _ in one.scores], np.int64)
        rows = with_signals(signals.records(ordinals), signals)
        own = [row for row in rows if selection.admits(row) and _is_own(row, user)]
        found += _stated(own[:MAX_READ], one.part, dict(one.scores), user)
    return found


def _strongest(
    index: FacetIndex, part: ProfilePart, places: NDArray[np.int64], now: int, visibility: Visibility
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ordinals and scores of the strongest visible memories among `places` that the part may show."""
    if visibility.versions is not None:
        # what is stronger because it is later must not take the places of what was said by then
        places = places[visibility.signals.occurred_at[index.ordinals[places]] <= now]
    scores = index.scores(part, places, now if visibility.versions is not None else now - now % SCORE_PERIOD)
    places, scores = places[scores > 0], scores[scores > 0]
    order = np.lexsort((places, index.sequences[places], -scores))
    ordinals, scores = index.ordinals[places[order]], scores[order]
    shown, end = np.zeros(len(order), np.bool_), 0
    while end < len(order) and np.count_nonzero(shown) < MAX_READ:
        start, end = end, max(FIRST_CHECKED, 2 * end)
        shown[start:end] = visibility.is_visible(ordinals[start:end])
        if part is DYNAMIC:
            shown[start:end] &= ~_is_over(visibility.signals, ordinals[start:end], now)
    return ordinals[shown][:MAX_READ], scores[shown][:MAX_READ]


def _is_over(signals: Signals, ordinals: NDArray[np.int64], now: int) -> NDArray[np.bool_]:
    """Whether a time that was still to come when it was named has passed; what was over then is done."""
    start, end = signals.event_start[ordinals], signals.event_end[ordinals]
    ends = np.where(end == NO_TIME, start + MICROSECONDS_PER_DAY, end)
    over: NDArray[np.bool_] = (start != NO_TIME) & (ends <= now) & (ends > signals.occurred_at[ordinals])
    return over


def _is_own(row: Mapping[str, Any], user_id: str) -> bool:
    """Whether the user said it, and nothing in it is suspicious."""
    is_users = row["source_class"] == "user" and (not user_id or row["user_id"] == user_id)
    return is_users and UNSAFE_FLAGS.isdisjoint(row["flags"])


def _stated(
    rows: Iterable[Mapping[str, Any]], part: ProfilePart, scores: Mapping[int, float], user_id: str
) -> Iterator[Statement]:
    """The statements of rows; without a user, a statement without a speaker gets its user as speaker.

    A sentence about another person ("Dan's mother is vegan") is no statement of the static part.
    """
    for row in rows:
        spans = [
            (facet, start, end)
            for facet, start, end in zip(
                row["facets"], row["facet_spans"][::2], row["facet_spans"][1::2], strict=True
            )
            if facet in part.facets and (part is DYNAMIC or not is_about_another(row["text"][start:end]))
        ]
        if spans:
            yield Statement(
                ordinal=row["ordinal"],
                memory_id=row["memory_id"],
                sequence=row["stream_sequence"],
                sentences=_sentences(row["text"], [(start, end) for _, start, end in spans]),
                part=part,
                facets=tuple(dict.fromkeys(facet for facet, _, _ in spans)),
                speaker=row["speaker"] or ("" if user_id else row["user_id"]),
                occurred_at=row["occurred_at"],
                is_derived=bool(row["derived_from"]),
                score=scores[row["ordinal"]],
            )


def _sentences(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """The distinct sentences in their order, each on one line."""
    return tuple(" ".join(text[start:end].split()) for start, end in sorted(set(spans)))
