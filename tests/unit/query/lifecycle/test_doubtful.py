"""Short memories of little confidence keep a share of their score."""

from dataclasses import replace

import numpy as np

from helix_query.profile.sections.ranking import Doubtful
from helix_query.recall.lifecycle.doubtful import is_doubtful

from .test_speech_acts import signals_of


def test_a_short_remark_that_nobody_confirmed_is_lowered() -> None:
    """An agent's remark; not what it keeps, what a person hedged, what was confirmed, or a long text."""
    confidence = np.array([0.8, 0.5, 0.6, 0.55, 0.65, 0.5], np.float32).astype(np.float64)
    raw = replace(signals_of(["statement"] * 6, [8, 8, 8, 8, 8, 200]), confidence=confidence)
    assert is_doubtful(raw, Doubtful(share=0.75)).tolist() == [False, True, False, False, False, False]
    assert not is_doubtful(raw, Doubtful()).any()
