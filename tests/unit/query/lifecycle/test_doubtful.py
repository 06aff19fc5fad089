"""Short memories of little confidence keep a share of their score."""

from dataclasses import replace

import numpy as np
import pytest

from helix_query.profile.sections.ranking import Doubtful
from helix_query.recall.lifecycle.doubtful import doubtful_factors

from .test_speech_acts import signals_of


def test_a_short_remark_that_nobody_confirmed_is_lowered() -> None:
    """An agent's remark and a hedged sentence; not what was confirmed, and not a long text."""
    raw = replace(
        signals_of(["statement"] * 5, [8, 8, 8, 8, 200]), confidence=np.array([0.8, 0.6, 0.55, 0.75, 0.6])
    )
    factors = doubtful_factors(raw, Doubtful(share=0.75))
    assert factors.tolist() == pytest.approx([1.0, 0.75, 0.75, 1.0, 1.0])
    assert doubtful_factors(raw, Doubtful()).tolist() == [1.0] * 5
