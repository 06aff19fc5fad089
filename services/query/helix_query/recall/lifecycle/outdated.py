"""Stage 6: a memory that a later one has probably replaced is ranked below it, or above it.

Most questions ask for what holds now. A replacement often shares no word with the question ("we went back to
Redux"), so it takes a part of the score of the memory that it replaces. The replaced memory then loses score:
more, the surer the link is and the better the replacement answers. In a chain of links the latest memory gets
most.

For a question about earlier times, a memory that only a later one hides is a candidate too (0051). "The old
code" asks for what the current value replaced, "the original code" for the first of the chain, "when did the
code change" for the current value and then the others. A question in the past tense may still ask for what
holds, so replaced memories count less, except for the time at which they held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.profile.past_question import PastQuestion
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Outdated
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.candidates import RelatedPairs, Route

ASKS_FOR_PLANS: Final = frozenset([Intent.WHEN, Intent.CURRENT_VALUE])
"""Questions for what changes in a plan; other memories tell who was there and why."""
MAX_CHAIN_LINKS: Final = 4
"""Links of a chain along which a score is passed on. Chosen by hand."""

MIN_REVERSED_PROBABILITY: Final = 0.5
"""Probability from which a replacement is reversed for a question about the past: decision 0051."""
REPLACED_IN_TENSE: Final = 0.6
"""Factor of a replaced memory where the tense alone speaks of the past: decision 0051."""


def replacements_that_count(
    related: RelatedPairs, raw: CandidateSignals, route: Route, constants: Outdated
) -> RelatedPairs:
    """The pairs with the part of their probability that counts for this question.

    All of it counts for a question about a value that changes or has changed, for one whether something
    holds, and for one about a time to come, because plans change; a part of it for other questions and for
    the past tense; nothing for a question with words of earlier times, and for a replacement that came after
    the time that the question names. If a plan changed before its time, all of it counts for a question in
    the past tense that asks when or for a value.
    """
    is_to_come = route.window is not None and route.as_of_moment is None
    asks_for_value = Intent.CURRENT_VALUE in route.intents or route.past_question.asks_for_a_change
    share = 1.0 if asks_for_value or is_to_come or route.asks_whether else constants.share_otherwise
    if route.past_question is PastQuestion.TENSE:
        share *= 1.0 - constants.past_tense
    elif route.past_question is PastQuestion.EARLIER:
        share = 0.0
    probability = share * related.probability
    if route.past_question is PastQuestion.TENSE and ASKS_FOR_PLANS.intersection(route.intents):
        probability = np.where(_never_held(related, raw), related.probability, probability)
    if route.as_of_moment is not None:
        later = raw.occurred_at[related.newer] > microseconds(route.as_of_moment)
        probability = np.where(later, 0.0, probability)
    return replace(related, probability=probability)


def _never_held(related: RelatedPairs, raw: CandidateSignals) -> NDArray[np.bool_]:
    """Whether the replaced memory speaks of a time that had not come when its replacement was said."""
    planned = raw.event_start[related.older]
    held: NDArray[np.bool_] = (planned == NO_TIME) | (planned <= raw.occurred_at[related.newer])
    return ~held


def inherited_gains(
    scores: NDArray[np.float64], related: RelatedPairs, constants: Outdated
) -> NDArray[np.float64]:
    """Gains that raise each replacement to its part of the score of what it replaces; 0 for all others.

    The part is min(1, `inherited` x probability); the probability of a chain is the product of its links.
    """
    # of the best chain that ends at a memory: the score at its beginning, and that times its probability
    origin, passed_on, best = scores.copy(), scores.copy(), scores.copy()
    for _ in range(MAX_CHAIN_LINKS):
        reaching = passed_on[related.older] * related.probability
        values = np.minimum(origin[related.older], constants.inherited * reaching)
        improved = best.copy()
        np.maximum.at(improved, related.newer, values)
        better = np.flatnonzero((values > best[related.newer]) & (values == improved[related.newer]))
        if not len(better):
            break
        ends = related.newer[better]
        origin[ends], passed_on[ends] = origin[related.older[better]], reaching[better]
        best = improved
    gains: NDArray[np.float64] = best - scores
    return gains


def outdated_factors(
    scores: NDArray[np.float64], related: RelatedPairs, constants: Outdated
) -> NDArray[np.float64]:
    """Product over the replacements of each of 1 - min(1, `lost_share` x probability) x min(1, new / old).

    It is at least `kept_share` x min(1, new / old) of the best replacement: a replaced memory that answers
    the question gives way to what replaces it, not to memories that do not answer it.
    """
    factors = np.ones(len(scores))
    old, new = scores[related.older], scores[related.newer]
    ratio = np.minimum(1.0, np.divide(new, old, out=np.zeros_like(old), where=old > 0))
    loss = np.minimum(1.0, constants.lost_share * related.probability) * ratio
    # by size, so that the last bit of a product does not depend on the order of the candidates
    order = np.lexsort((loss, related.older))
    np.multiply.at(factors, related.older[order], 1.0 - loss[order])
    behind = np.zeros(len(scores))
    np.maximum.at(behind, related.older, constants.kept_share * ratio)
    return np.maximum(factors, behind)


def without_unlikely(replacements: RelatedPairs) -> RelatedPairs:
    """The pairs with a probability of 0 for those below `MIN_REVERSED_PROBABILITY`.

    On the lab's sets `life` and `months` questions about the past lost more than they gained where improbable
    pairs were reversed (ops/decisions/0051).
    """
    is_likely = replacements.probability >= MIN_REVERSED_PROBABILITY
    return replace(replacements, probability=np.where(is_likely, replacements.probability, 0.0))


def reversed_pairs(replacements: RelatedPairs) -> RelatedPairs:
    """The pairs with both sides exchanged, so that the replaced memory goes before its replacement."""
    return replace(replacements, newer=replacements.older, older=replacements.newer)


def past_tense_factors(raw: CandidateSignals, route: Route) -> NDArray[np.float64]:
    """Factors that lower replaced memories if only the tense of the question is about the past.

    A memory that held at the time that the question names keeps its score.
    """
    replaced = raw.replaced_at != NO_TIME
    if route.past_question is not PastQuestion.TENSE or not replaced.any():
        return np.ones(len(replaced))
    if route.as_of_moment is not None:
        replaced &= raw.replaced_at <= microseconds(route.as_of_moment)
    return np.where(replaced, REPLACED_IN_TENSE, 1.0)


def latest_replaced_first(replacements: RelatedPairs, count: int) -> RelatedPairs:
    """The pairs reversed, except pairs of two replaced memories, of which the later one still goes first.

    `count` is the number of candidates.
    """
    replaced = np.zeros(count)
    np.maximum.at(replaced, replacements.older, replacements.probability)
    both = replaced[replacements.newer] >= MIN_REVERSED_PROBABILITY
    return replace(
        replacements,
        newer=np.where(both, replacements.newer, replacements.older),
        older=np.where(both, replacements.older, replacements.newer),
    )
