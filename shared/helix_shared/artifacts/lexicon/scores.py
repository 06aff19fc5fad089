"""Scores without the engine's rounding errors, which depend on the documents of other tenants.

The engine's score is BM25 of the caller's scopes up to float rounding: a boost replaces the engine's own idf,
which counts all tenants' documents, and the order of sums depends on the segments. So scores are rounded to
11 significant bits (one part in 1,024 to 2,048). A score that the engine's error could round either way is
first computed again from the term counts of the document.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from tantivy import DocAddress, Occur, Query, Schema, Searcher

from helix_shared.artifacts.lexicon.lengths import TYPICAL
from helix_shared.artifacts.lexicon.scopes import SCOPE, WeightedTerm

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


@dataclass(frozen=True)
class ScoredQuery:
    """A query of the engine, and the terms that its scores are sums of.

    Without terms, its scores are sums of integers, which have no rounding error.
    """

    schema: Schema
    query: Query
    terms: Sequence[WeightedTerm] = ()

    @cached_property
    def noise(self) -> float:
        """Upper bound of the relative error of an engine score, which sums the terms of one scope."""
        if not self.terms:
            return 0.0
        return (max(len(terms) for terms in self._by_scope.values()) + _OPERATIONS) * _UNIT

    def bounds(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest rounded score [n] that documents with these engine scores [n] may have."""
        if not self.terms:
            return scores, scores
        return on_grid(scores * (1.0 - self.noise)), on_grid(scores * (1.0 + self.noise))

    def exact(self, ordinals: Sequence[int], searcher: Searcher) -> dict[int, float]:
        """Rounded scores of documents of this query, by ordinal, computed from their term counts."""
        scores = {}
        for ordinal, scope, place in self._places(ordinals, searcher):
            if ordinal not in scores:
                score = self._exactly(scope, place, searcher)
                scores[ordinal] = float(on_grid(np.array([score]))[0])
        return scores

    @cached_property
    def _by_scope(self) -> Mapping[str, list[WeightedTerm]]:
        found: dict[str, list[WeightedTerm]] = {}
        for term in self.terms:
            found.setdefault(term.scope, []).append(term)
        return found

    def _places(self, ordinals: Sequence[int], searcher: Searcher) -> Iterator[tuple[int, str, DocAddress]]:
        """Ordinal, scope and address of each document of these ordinals."""
        scopes = list(self._by_scope)
        numbered = [
            Query.const_score_query(Query.term_query(self.schema, SCOPE, scope, "basic"), float(number))
            for number, scope in enumerate(scopes, 1)
        ]
        among = Query.const_score_query(Query.term_set_query(self.schema, "ordinal", list(ordinals)), 0.0)
        query = Query.boolean_query(
            [
                (Occur.Must, among),
                (Occur.Must, Query.boolean_query([(Occur.Should, one) for one in numbered])),
            ]
        )
        hits = searcher.search(query, limit=len(ordinals) * len(scopes), count=False).hits
        found = np.array(searcher.fast_field_values("ordinal", [place for _, place in hits]), np.int64)
        for (number, place), ordinal in zip(hits, found.tolist(), strict=True):
            yield ordinal, scopes[int(number) - 1], place

    def _exactly(self, scope: str, place: DocAddress, searcher: Searcher) -> float:
        """BM25 (Robertson, Zaragoza 2009) of a document from its term counts, in 64 bits."""
        terms = self._by_scope[scope]
        query = Query.boolean_query([(Occur.Should, term.query(self.schema)) for term in terms])
        # keyed by what the explanation says of a term; terms with equal keys have equal weights
        numbers = {name: number for number, name in enumerate(TYPICAL)}
        weights = {
            (numbers[term.field], term.frequency, float(np.float32(term.boost))): term.weight
            for term in terms
        }
        return math.fsum(_contributions(json.loads(query.explain(searcher, place).to_json()), weights))


def _contributions(node: dict[str, Any], weights: Mapping[tuple[int, int, float], float]) -> Iterator[float]:
    """The contribution of each term to a document's score, from the engine's explanation."""
    description, details = node["description"], node.get("details") or []
    if not description.startswith(_BOOST):
        for detail in details:
            yield from _contributions(detail, weights)
        return
    boost = np.float32(description[len(_BOOST) :].split(" ", 1)[0])
    of_term = details[0]
    number = int(of_term["context"][0].removeprefix(_TERM).split(",", 1)[0])
    _, idf, saturation = of_term["details"]
    frequency = int(idf["details"][0]["value"])
    count, _, _, length, _ = (detail["value"] for detail in saturation["details"])
    norm = K1 * (1.0 - B + B * length / tuple(TYPICAL.values())[number])
    yield weights[number, frequency, float(boost)] * (K1 + 1.0) * count / (count + norm)


def on_grid(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores rounded to `BITS` significant bits."""
    mantissas, exponents = np.frexp(scores)
    rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(mantissas, BITS)), exponents - BITS)
    return rounded
