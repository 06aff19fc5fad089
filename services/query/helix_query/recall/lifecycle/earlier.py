"""Stage 6 for a question about earlier times: what was replaced goes before its replacement, or after it.

A memory that nothing but a later one hides is a candidate here (ops/decisions/0051). "The old code" wants
what the current value replaced, "the original code" the first of the row, "when did the code change" the
value that holds and then the others. By its tense alone a question may want what holds, so a replaced memory
then counts less, but for the time at which it held.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.past import Past
from helix_query.recall.lifecycle.outdated import inherited_gains, outdated_factors
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Outdated
    from helix_query.recall.candidates import CandidateSignals, Related, Route
    from helix_query.recall.stages.scoring import ScoreBuilder

LIKELY: Final = 0.5
"""Probability from which a replacement counts as replaced itself."""
REPLACED_IN_TENSE: Final = 0.6
"""Factor of a replaced memory where the tense alone speaks of the past."""


def earlier_steps(builder: ScoreBuilder, holding: Related, route: Route, constants: Outdated) -> None:
    """The steps of a question that asks for a former value, the first one, or for changes.

    `holding` are the pairs of candidates with the probabilities that count for this question.
    """
    if route.past is Past.CHANGES:
        builder.plus("replacement", inherited_gains(builder.scores, holding, constants))
        return
    turned = replace(holding, newer=holding.older, older=holding.newer)
    builder.plus("former", inherited_gains(builder.scores, turned, constants))
    if route.past is Past.FORMER:
        turned = _last_first(turned, holding, len(builder.scores))
    factors = 1.0 - constants.former * (1.0 - outdated_factors(builder.scores, turned, constants))
    builder.times("later", factors)


def held_then(raw: CandidateSignals, route: Route) -> NDArray[np.float64]:
    """Factors of replaced memories, which count less where the tense alone speaks of the past.

    One that held at the time that the question names keeps its score.
    """
    replaced = raw.replaced_at != NO_TIME
    if route.past is not Past.TENSE or not replaced.any():
        return np.ones(len(replaced))
    if route.as_of_moment is not None:
        replaced &= raw.replaced_at <= microseconds(route.as_of_moment)
    return np.where(replaced, REPLACED_IN_TENSE, 1.0)


def _last_first(turned: Related, holding: Related, count: int) -> Related:
    """`turned` with the pairs of two replaced memories the other way round: the later one goes first."""
    replaced = np.zeros(count)
    np.maximum.at(replaced, holding.older, holding.probability)
    both = replaced[holding.newer] >= LIKELY
    return replace(
        turned,
        newer=np.where(both, holding.newer, turned.newer),
        older=np.where(both, holding.older, turned.older),
    )
