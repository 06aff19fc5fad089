"""Stage 6: of the first candidates for a question for what holds, the later ones count more.

Whoever asks what holds is answered best by the last word on it, and few of the changes that people tell can
be linked to what they change ("the plumber rang, so not before Friday"). What the first candidates have in
common is that they are near the question, so their order in time says which of them is the last word. Any
question in the present tense may ask for what has changed ("which day can I get into the new place?"): these
have a gain of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.profile.past import Past

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Newer
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.candidates import Route

FEWEST: Final = 2
"""Statements whose order in time says something."""


def newest_gain(route: Route, constants: Newer) -> float:
    """What the latest candidate gains for this question; 0 where it asks for an earlier or a past time.

    Nor does it gain where something else than a value is asked about a name: what friends tell of each other
    adds up, and the latest of it replaces nothing (locomo loses 2 points of Hit@1 with it). Whoever asks for
    a symbol, path or error wants the memory that holds it, whenever it came (code_exact loses 9 points).
    """
    if route.past is not Past.NO or route.as_of_moment is not None:
        return 0.0
    if Intent.CURRENT_VALUE in route.intents:
        return constants.gain
    names_it = route.names_something or Intent.EXACT_LOOKUP in route.intents
    return 0.0 if names_it else constants.elsewhere


def newer_factors(
    scores: NDArray[np.float64],
    raw: CandidateSignals,
    constants: Newer,
    others: NDArray[np.bool_],
    met: NDArray[np.float64],
    *,
    gain: float,
) -> NDArray[np.float64]:
    """1 + `gain` x `met` x share of the first candidates that are earlier; 1 for all others.

    Candidates with less than the share `least` of the best score are about something else, often another
    person, and gain nothing. What was said in a session is compared, up to `longest` tokens. Documents hold
    whenever they came, and of all the things that a long text says its time tells little: these get
    1 + `gain` / 2. `others` are about somebody else than the question: they gain nothing. `met`, 0 to 1, says
    how far a candidate meets the words of the question: the last word on another thing is none on this.
    """
    factors = np.ones(len(scores))
    first = np.argsort(-scores, kind="stable")[: constants.compared]
    first = first[scores[first] >= constants.least * scores.max(initial=0.0)]
    first = first[~others[first]]
    compared = first[(raw.session_code[first] != 0) & (raw.token_count[first] <= constants.longest)]
    if len(compared) < FEWEST:
        return factors
    times = raw.occurred_at[compared]
    earlier = np.searchsorted(np.sort(times), times, side="left")
    factors[first] = 1.0 + gain / 2.0
    factors[compared] = 1.0 + gain * met[compared] * earlier / (len(compared) - 1)
    return factors
