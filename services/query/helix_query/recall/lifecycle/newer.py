"""Stage 6: for a question about what holds now, later memories among the first candidates count more.

The latest statement about a thing answers such a question best, but few changes that people mention can be
linked to what they change ("the plumber rang, so not before Friday"). The first candidates are all near the
question, so their order in time shows the latest statement. Any question in the present tense may ask for
what has changed ("which day can I get into the new place?"), so these have a gain of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory.vocabulary.speech_acts import SPEECH_ACTS
from helix_query.profile.intent import Intent
from helix_query.profile.past_question import PastQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Newer
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.candidates import Route

TIMELESS_INTENTS: Final = frozenset([Intent.EXACT_LOOKUP, Intent.AGGREGATION])
"""Intents whose answers rest on memories of any time, unless the query asks for a current value."""
HYPOTHETICAL: Final = SPEECH_ACTS.index("hypothetical")
MIN_COMPARED: Final = 2
"""Statements that are compared at least."""
SAME_TIME_MICROSECONDS: Final = 1_000_000
"""Memories written within a second, as by an import, have no order in time."""


def newest_gain(route: Route, constants: Newer) -> float:
    """The gain of the latest candidate for this question; 0 for a question about an earlier or a past time.

    It is also 0 for a question about a name that asks for no value: what friends tell of each other adds up,
    and the latest statement replaces nothing (locomo loses 2 points of Hit@1 with a gain). A question for a
    symbol, path or error asks for the memory that holds it, whatever its time (code_exact loses 9 points).
    Advice rests on what somebody likes or cannot do, and a count or a span on several statements, whatever
    their time (beam100k loses 3 points of R@10 with a gain for both).
    """
    if route.past_question is not PastQuestion.NO or route.as_of_moment is not None:
        return 0.0
    if Intent.PREFERENCE in route.intents:
        return 0.0
    if Intent.CURRENT_VALUE in route.intents:
        return constants.gain
    is_of_any_time = route.names_something or not TIMELESS_INTENTS.isdisjoint(route.intents)
    return 0.0 if is_of_any_time else constants.gain_otherwise


def newer_factors(
    scores: NDArray[np.float64],
    raw: CandidateSignals,
    constants: Newer,
    about_others: NDArray[np.bool_],
    question_match: NDArray[np.float64],
    *,
    gain: float,
) -> NDArray[np.float64]:
    """1 + `gain` x `question_match` x share of the first candidates that are earlier; 1 for all others.

    Candidates with less than the share `least` of the best score are about something else, often another
    person, and gain nothing. Only turns of sessions with up to `longest` tokens are compared. Documents hold
    whatever their time, and the time of a long text says little about each of its statements: these get 1 +
    `gain` / 2. Candidates `about_others` than the person asked about gain nothing, nor do hypothetical ones
    ("thinking about another carer, not sure"). `question_match`, 0 to 1, is how well a candidate matches the
    words of the question: a late statement about another thing must gain little.
    """
    return _factors_by_time(scores, raw, raw.occurred_at, constants, about_others, question_match, gain)


def earliest_factors(
    scores: NDArray[np.float64],
    raw: CandidateSignals,
    constants: Newer,
    about_others: NDArray[np.bool_],
    question_match: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The same by the share of the first candidates that are later, with the gain `gain_first`.

    For a question for the first value, where no link tells which one that is.
    """
    return _factors_by_time(
        scores, raw, -raw.occurred_at, constants, about_others, question_match, constants.gain_first
    )


def _factors_by_time(
    scores: NDArray[np.float64],
    raw: CandidateSignals,
    at: NDArray[np.int64],
    constants: Newer,
    about_others: NDArray[np.bool_],
    question_match: NDArray[np.float64],
    gain: float,
) -> NDArray[np.float64]:
    factors = np.ones(len(scores))
    first = np.argsort(-scores, kind="stable")[: constants.compared]
    first = first[scores[first] >= constants.least_score * scores.max(initial=0.0)]
    first = first[~about_others[first] & (raw.speech_act[first] != HYPOTHETICAL)]
    compared = first[(raw.session_code[first] != 0) & (raw.token_count[first] <= constants.longest)]
    times = at[compared]
    if len(times) < MIN_COMPARED or np.ptp(times) < SAME_TIME_MICROSECONDS:
        return factors
    earlier = np.searchsorted(np.sort(times), times, side="left")
    factors[first] = 1.0 + gain / 2.0
    factors[compared] = 1.0 + gain * question_match[compared] * earlier / (len(compared) - 1)
    return factors
