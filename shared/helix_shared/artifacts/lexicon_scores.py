"""Scores of the lexicon without what the engine's rounding makes of other tenants' documents.

The engine's score of a document is BM25 of the open scopes up to float rounding: the factor on a term takes
back the engine's own idf, which counts every tenant's documents, and sums are taken in an order that hangs on
the segments. So a score is rounded to 11 significant bits (one part in 1,024 to 2,048). One that is nearer to
the border of two rounded values than the engine's error is first computed again from the document's counts.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from helix_shared.artifacts.lexicon_lengths import TYPICAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from tantivy import DocAddress, Query, Searcher

K1: Final = 1.2
B: Final = 0.75
"""The engine's constants of BM25."""
BITS: Final = 11
_UNIT: Final = 2.0**-24
"""Relative error of one rounded operation on 32-bit floats."""
_OPERATIONS: Final = 12
"""Rounded operations in one term's score: idf, factor, length, frequency."""
_BOOST: Final = "Boost x"
_TERM: Final = "Term=Term(field="


class WeightedTerm(NamedTuple):
    """A term of a query and what a document's score gets from it."""

    field: str
    term: str
    weight: float
    """Weight of the field times the idf among the open scopes."""
    boost: float
    """What makes of the engine's own idf that weight."""
    frequency: int
    """Documents of the index that hold it, as the engine counts."""


@dataclass(frozen=True, slots=True)
class ScoredQuery:
    """A query of the engine and the terms its scores are made of.

    Without terms its scores are sums of whole numbers, which have no rounding error.
    """

    query: Query
    terms: Sequence[WeightedTerm] = ()
    _weights: dict[tuple[int, int, float], float] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """Most relative error of a score by the engine."""
        return (len(self.terms) + _OPERATIONS) * _UNIT if self.terms else 0.0

    def bound(self, score: float) -> float:
        """The highest score that a document may have which the engine gives at most `score`."""
        return float(on_grid(np.array([score * (1.0 + self.noise)]))[0]) if self.terms else score

    def scores(
        self, scores: NDArray[np.float64], places: Sequence[DocAddress], searcher: Searcher
    ) -> NDArray[np.float64]:
        """Scores by the engine of the documents at `places`, rounded as all tenants' contents leave them."""
        if not self.terms:
            return scores
        rounded = on_grid(scores)
        for at in np.flatnonzero(doubtful(scores, self.noise)).tolist():
            rounded[at] = on_grid(np.array([self._exactly(places[at], searcher)]))[0]
        return rounded

    def _exactly(self, place: DocAddress, searcher: Searcher) -> float:
        """BM25 (Robertson, Zaragoza 2009) of a document from its counts of terms, in 64 bits."""
        explanation = json.loads(self.query.explain(searcher, place).to_json())
        return math.fsum(self._contributions(explanation))

    def _contributions(self, node: dict[str, Any]) -> Iterator[float]:
        description, details = node["description"], node.get("details") or []
        if not description.startswith(_BOOST):
            for detail in details:
                yield from self._contributions(detail)
            return
        boost = np.float32(description[len(_BOOST) :].split(" ", 1)[0])
        of_term = details[0]
        number = int(of_term["context"][0].removeprefix(_TERM).split(",", 1)[0])
        _, idf, saturation = of_term["details"]
        frequency = int(idf["details"][0]["value"])
        count, _, _, length, _ = (detail["value"] for detail in saturation["details"])
        weight = self._weight(number, frequency, float(boost))
        norm = K1 * (1.0 - B + B * length / tuple(TYPICAL.values())[number])
        yield weight * (K1 + 1.0) * count / (count + norm)

    def _weight(self, number: int, frequency: int, boost: float) -> float:
        # by what the engine tells of a term; terms equal in all of it have the same weight
        if not self._weights:
            numbers = {name: at for at, name in enumerate(TYPICAL)}
            for term in self.terms:
                key = numbers[term.field], term.frequency, float(np.float32(term.boost))
                self._weights[key] = term.weight
        return self._weights[number, frequency, boost]


def on_grid(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores rounded to `BITS` significant bits."""
    mantissas, exponents = np.frexp(scores)
    rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(mantissas, BITS)), exponents - BITS)
    return rounded


def doubtful(scores: NDArray[np.float64], noise: float) -> NDArray[np.bool_]:
    """Which scores may round to another value when they are changed by a relative error of `noise`."""
    mantissas, _ = np.frexp(scores)
    places = np.ldexp(mantissas, BITS)
    near: NDArray[np.bool_] = np.abs(places - np.floor(places) - 0.5) <= noise * places
    return near
