"""The raw signals of candidates, read once from the columns of a generation; stage 6 normalises them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.filter.past_moment import PastMoment
    from helix_shared.artifacts.signals.reader import Signals


@dataclass(frozen=True, slots=True)
class CandidateSignals:
    """Raw signals of the candidates, one entry a candidate; stage 6 normalises them.

    Times are microseconds since 1970 UTC; `NO_TIME` where there is none.
    """

    type_code: NDArray[np.uint8]
    touched_at: NDArray[np.int64]
    """Last access, or creation where there was none."""
    occurred_at: NDArray[np.int64]
    event_start: NDArray[np.int64]
    event_end: NDArray[np.int64]
    salience: NDArray[np.float64]
    """Salience by ingest, moved by use, 0 to 1."""
    confidence: NDArray[np.float64]
    priority: NDArray[np.float64]
    pinned: NDArray[np.bool_]
    project_code: NDArray[np.int64]
    session_code: NDArray[np.int64]
    access_count: NDArray[np.int64]
    token_count: NDArray[np.int64]
    about_code: NDArray[np.int64]
    """Code of the person it is about, `helix_shared.about`."""
    speech_act: NDArray[np.uint8]
    """Index in `helix_memory.vocabulary.speech_acts.SPEECH_ACTS`."""
    source_code: NDArray[np.int64]
    """The same for a turn and the statements that were derived from it."""
    is_derived: NDArray[np.bool_]
    replaced_at: NDArray[np.int64]
    """When a later memory replaced it."""
    sequence: NDArray[np.int64]
    """Position of its event in the log."""


def candidate_signals(signals: Signals, ordinals: NDArray[np.int64], past: PastMoment) -> CandidateSignals:
    """The raw signals of candidates; at a past moment as they were then.

    Accesses and feedback do not count if the last came after it was known. What is visible at a past moment
    was not replaced by then.
    """
    as_of = past.as_of
    accessed, counts = signals.last_accessed_at[ordinals], signals.access_count[ordinals]
    moves = signals.salience_move[ordinals].astype(np.float64)
    if as_of is not None:
        later = accessed > microseconds(as_of)
        moves = np.where(later | (signals.last_feedback_at[ordinals] > microseconds(as_of)), 0.0, moves)
        accessed, counts = np.where(later, NO_TIME, accessed), np.where(later, 0, counts)
    return CandidateSignals(
        type_code=signals.type_code[ordinals],
        touched_at=np.where(accessed == NO_TIME, signals.created_at[ordinals], accessed),
        occurred_at=signals.occurred_at[ordinals],
        event_start=signals.event_start[ordinals],
        event_end=signals.event_end[ordinals],
        salience=np.clip(signals.salience[ordinals] + moves, 0.0, 1.0),
        confidence=signals.confidence[ordinals].astype(np.float64),
        priority=signals.priority[ordinals].astype(np.float64),
        pinned=signals.pinned[ordinals].astype(bool),
        project_code=signals.project_code[ordinals],
        session_code=signals.session_code[ordinals],
        access_count=counts.astype(np.int64),
        token_count=signals.token_count[ordinals].astype(np.int64),
        about_code=signals.about_code[ordinals],
        speech_act=signals.speech_act[ordinals],
        source_code=signals.source_code[ordinals],
        is_derived=signals.is_derived[ordinals],
        replaced_at=np.full(len(ordinals), NO_TIME) if past else signals.replaced_at[ordinals],
        sequence=signals.stream_sequence[ordinals].astype(np.int64),
    )
