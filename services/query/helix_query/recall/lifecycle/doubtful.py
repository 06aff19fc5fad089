"""Stage 6: short memories of low confidence, which nobody has confirmed, lose score.

"Noted, 3 March" and "You can still have a green towel" are near to many questions and answer few: among the
first places a short remark of an agent is relevant half as often as what a person told (ops/decisions/0124).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Doubtful
    from helix_query.recall.candidate_signals import CandidateSignals


def is_doubtful(raw: CandidateSignals, constants: Doubtful) -> NDArray[np.bool_]:
    """Which candidates are short memories of little confidence; none where they keep all of their score."""
    if constants.share == 1.0:
        return np.zeros(len(raw.confidence), np.bool_)
    found: NDArray[np.bool_] = (raw.confidence < constants.below) & (raw.token_count <= constants.tokens)
    return found
