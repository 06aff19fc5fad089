"""Which differences an erasure explains.

A statement is related to the earlier ones that are there when it is decided about, and its probabilities
depend on all of them. The log has lost what was erased since, so a rebuild decides without it. That concerns
the statements between the erased event and its erasure, their relations and what follows from these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def decided_beside(spans: Sequence[tuple[int, int]], events: Mapping[str, int]) -> set[str]:
    """The memories whose events, given by id, lie within one of the `spans`."""
    if not spans:
        return set()
    ids, sequences = list(events), np.fromiter(events.values(), np.int64)
    starts, ends = np.array(sorted(spans), np.int64).T
    # of the spans that begin before an event, whether one ends after it
    latest = np.concatenate([[0], np.maximum.accumulate(ends)])
    inside = latest[np.searchsorted(starts, sequences)] > sequences
    return {ids[place] for place in np.flatnonzero(inside).tolist()}
