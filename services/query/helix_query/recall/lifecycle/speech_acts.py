"""Speech acts in stage 6: statements go before bare questions, an answer gains from its question.

A question is bare if it is short. A long one says something too ("I moved to Graz in May, which doctor ...").
One that was answered gives its place to the answer and stands behind it: a short answer is read with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory.vocabulary.speech_acts import SPEECH_ACTS
from helix_query.recall.query_text import read_query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import SpeechActs
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.candidates import RelatedPairs, Route

ASKING: Final = (SPEECH_ACTS.index("question"), SPEECH_ACTS.index("request"))
ACKNOWLEDGEMENT: Final = SPEECH_ACTS.index("acknowledgement")
LOWER_GROUP_SHARE: Final = 0.5
"""The best memory of a lower group gets this share of the least score above it."""
ANSWERED_SHARE: Final = 0.999
"""Share of the score of its best answer that an answered question gets at most."""
MIN_SCORE: Final = 1e-9
"""Least score that counts as one; a memory below it matches nothing."""

_ABOUT_QUESTIONS: Final = re.compile(
    r"\b(?:ask(?:ed|s|ing)?|questions?|wonder(?:ed|s|ing)?)\b"
    r"|(?<!pull )(?<!merge )(?<!http )(?<!api )\brequests?\b(?! (?:per|an?|each|every|can|may|limit|rate)\b)"
)
_WHOM_TO_ASK: Final = re.compile(
    r"\b(?:do|should|can|could|may|might|must|will|would|to|need to|have to) (?:(?:i|we|you|they|he|she) )?"
    r"(?:best )?ask\b"
)
"""Asks for a person or a way, not for what was asked."""


def asks_about_questions(query: str) -> bool:
    """Whether a query is about what was asked; then questions are wanted too.

    "Who do I ask about billing" and "how many requests per minute" are about other things.
    """
    read = _WHOM_TO_ASK.sub(" ", read_query(query).lower())
    return _ABOUT_QUESTIONS.search(read) is not None


def answer_share(route: Route, constants: SpeechActs) -> float:
    """The share of the score of its question that an answer gets.

    Many questions of an assistant are near to a query but ask for something else ("Will you repair it or
    replace the oven?" for the query "who repairs it?"). Questions between friends that name a person are what
    queries ask about that person, so a query with a name gives all of the score (locomo loses 2 points of
    Hit@1 without this).
    """
    return 1.0 if route.names_something else constants.answer_share


def answer_gains(scores: NDArray[np.float64], related: RelatedPairs, share: float) -> NDArray[np.float64]:
    """Gains that raise each answer to `share` of the score of its question; 0 for all others."""
    best = scores.copy()
    np.maximum.at(best, related.answers, share * scores[related.questions])
    gains: NDArray[np.float64] = best - scores
    return gains


def act_factors(
    scores: NDArray[np.float64],
    raw: CandidateSignals,
    related: RelatedPairs | None,
    constants: SpeechActs,
    *,
    wants_questions: bool,
) -> NDArray[np.float64]:
    """Factors that put bare questions below every statement, and bare acknowledgements below those.

    But a bare question whose answer is a candidate stands just below its best answer at most. All other
    memories of a group get the same factor, so their order stays. Scores of 0 stay where they are.
    """
    bare = raw.token_count <= constants.bare_tokens
    asks = bare & np.isin(raw.speech_act, ASKING) & (not wants_questions)
    acknowledges = bare & (raw.speech_act == ACKNOWLEDGEMENT)
    best = _best_answers(np.where(asks | acknowledges, 0.0, scores), related)
    answered = asks & (best > MIN_SCORE)
    factors = np.ones(len(scores))
    factors[answered] = np.minimum(
        1.0, ANSWERED_SHARE * best[answered] / np.maximum(scores[answered], MIN_SCORE)
    )
    asks &= ~answered
    above = (scores * factors)[~asks & ~acknowledges]
    for group in (asks, acknowledges):
        above = above[above > MIN_SCORE]
        most = float(scores[group].max(initial=0.0))
        if len(above) and most > MIN_SCORE:
            factors[group] = min(1.0, LOWER_GROUP_SHARE * float(above.min()) / most)
        above = np.concatenate([above, scores[group] * factors[group]])
    return factors


def _best_answers(scores: NDArray[np.float64], related: RelatedPairs | None) -> NDArray[np.float64]:
    """The score of the best answer of each candidate; 0: none is a candidate."""
    best = np.zeros(len(scores))
    if related is not None:
        np.maximum.at(best, related.questions, scores[related.answers])
    return best
