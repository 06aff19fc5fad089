"""Short memories of little confidence keep a share of their score."""

from dataclasses import replace

import numpy as np

from helix_query.profile.sections.ranking import Doubtful
from helix_query.recall.lifecycle.doubtful import is_doubtful

from .test_speech_acts import signals_of


def test_a_short_remark_that_nobody_confirmed_is_lowered() -> None:
    """An agent's remark and a hedged sentence; not what was confirmed, and not a long text."""
    raw = replace(
        signals_of(["statement"] * 5, [8, 8, 8, 8, 200]), confidence=np.array([0.8, 0.6, 0.55, 0.75, 0.6])
    )
    assert is_doubtful(raw, Doubtful(share=0.75)).tolist() == [False, True, True, False, False]
    assert not is_doubtful(raw, Doubtful()).any()
