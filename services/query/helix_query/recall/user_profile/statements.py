"""The statements of a user about themself, read from the memories that have facets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.generations.indexes.facet_index import DYNAMIC, PARTS, Part
from helix_query.recall.packing.rows import completed
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
    from helix_shared.artifacts.signals.reader import Signals

JUDGED: Final = 512
"""Strongest memories of a part whose visibility is judged."""
READ: Final = 80
"""Strongest visible memories of a part that are read: two to four times as many as a profile shows."""
UNSAFE_FLAGS: Final = frozenset(("instruction", "secret"))
"""A memory with one of these is in no profile, which is put before prompts without being asked for."""


def statements_of(snapshot: Snapshot, visibility: Visibility, moment: datetime) -> list[Statement]:
    """The strongest statements of the user of `visibility` that are visible, in any order.

    Those of a user are the user's own, shared ones included; without a user, all that everyone may recall.
    """
    selection, signals = visibility.selection, snapshot.generation.signals
    index, now, sequences = snapshot.facet_index.value, microseconds(moment), signals.stream_sequence
    owners = ("", selection.user_id) if selection.user_id else ("",)
    found: list[Statement] = []
    for part in PARTS:
        scores: dict[int, float] = {}
        for owner in owners:
            places = index.of_owner(code(selection.tenant_id), code(owner))
            scores |= _strongest(index, part, places, now, visibility)
        ordinals = np.array(sorted(scores, key=lambda one: (-scores[one], sequences[one], one)), np.int64)
        if part is DYNAMIC:
            ordinals = ordinals[~_is_over(signals, ordinals, now)]
        rows = completed(signals.records(ordinals[: READ * len(owners)]), signals)
        own = [row for row in rows if selection.admits(row) and _is_own(row, selection.user_id)]
        found += _stated(own[:READ], part, scores, selection.user_id)
    return found


def _strongest(
    index: FacetIndex, part: Part, places: NDArray[np.int64], now: int, visibility: Visibility
) -> dict[int, float]:
    """Scores of the strongest visible memories among `places`, by ordinal."""
    if visibility.past is not None:
        # what is stronger because it is later must not take the places of what was said by then
        places = places[visibility.signals.occurred_at[index.ordinals[places]] <= now]
    scores = index.scores(part, places, now)
    places, scores = places[scores > 0], scores[scores > 0]
    best = np.lexsort((places, index.sequences[places], -scores))[:JUDGED]
    ordinals = index.ordinals[places[best]]
    visible = visibility.is_visible(ordinals)
    return dict(zip(ordinals[visible].tolist(), scores[best][visible].tolist(), strict=True))


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
    rows: Iterable[Mapping[str, Any]], part: Part, scores: Mapping[int, float], user_id: str
) -> Iterator[Statement]:
    """The statements of rows; in the profile of no user, a line names its user where nobody is named.

    What is said of others ("Dan's mother is vegan") is no statement of the static part.
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
