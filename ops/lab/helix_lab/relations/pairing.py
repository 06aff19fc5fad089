"""Statements of a set as ingest makes them, and the candidates of each as consolidation chooses them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from helix_consolidation.relations.statement import Candidate, Statement
from helix_ingest.memories_builder import MemoriesBuilder
from helix_lab.sets.build import logged_events
from helix_lab.sets.data import EvaluationSet
from helix_shared.edges import decode
from helix_shared.moments import microseconds
from helix_shared.naming import find_names
from helix_shared.naming.words import FUNCTION_WORDS

DENSE: Final = 16
LEXICAL: Final = 6
IN_CONTEXT: Final = 3
"""Candidates by vector, by words, and by words of the earlier text with its context."""
WITH_NEIGHBOURS: Final = (6, 3)
"""The nearest by vector and by words whose neighbours in their session are candidates too."""
REACH: Final = 2
RECENT: Final = 2
"""The last statements are candidates whatever they say: "he's done" names nothing."""
NEVER_RELATED: Final = frozenset(["acknowledgement"])
_K1: Final = 1.2
_B: Final = 0.75
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Row:
    """A statement and the document it comes from."""

    document: str
    statement: Statement
    content: str


@dataclass(frozen=True, slots=True)
class Case:
    """A new statement with its candidates; `older` has the document of each."""

    newer: str
    new: Statement
    older: tuple[str, ...]
    candidates: tuple[Candidate, ...]


def cases_of(
    data: EvaluationSet, ingest: MemoriesBuilder, wanted: Iterable[tuple[str, str]] = ()
) -> dict[str, list[Case]]:
    """Cases by tenant, in the order of the log; pairs of `wanted` are candidates in any case."""
    forced: defaultdict[str, set[str]] = defaultdict(set)
    for older, newer in wanted:
        forced[newer].add(older)
    return {tenant: list(_cases(rows, forced)) for tenant, rows in _rows(data, ingest).items()}


def in_small_stores(cases: Iterable[Case], judged: Callable[[str, str], bool]) -> Iterator[Case]:
    """The same where little is stored: each judged or nearest candidate alone, and with two more."""
    for case in cases:
        cosines = [candidate.cosine for candidate in case.candidates]
        nearest = cosines.index(max(cosines))
        for at, older in enumerate(case.older):
            if at == nearest or judged(older, case.newer):
                for some in ([at], sorted({at, (at + 1) % len(case.older), (at + 2) % len(case.older)})):
                    yield Case(
                        case.newer,
                        case.new,
                        tuple(case.older[n] for n in some),
                        tuple(case.candidates[n] for n in some),
                    )


def _rows(data: EvaluationSet, ingest: MemoriesBuilder) -> dict[str, list[Row]]:
    """Statements by tenant as their own message delivers them: without the turn that follows."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for position, (event, before) in enumerate(logged_events(data, datetime.now(UTC))):
        document = data.documents[position]
        _, batch = decode(ingest.build(event, before).body)
        for values in batch.to_pylist():
            if values["stream_sequence"] == position + 1 and values["speech_act"] not in NEVER_RELATED:
                row = Row(document.id, _statement(values), values["content_hash"])
                found[document.tenant].append(row)
    return dict(found)


def _statement(values: dict[str, Any]) -> Statement:
    kept = ("text", "title", "context", "speaker", "role", "speech_act", "source_class", "type")
    return Statement(
        **{name: values[name] for name in kept},
        vector=np.array(values["vector"], dtype=np.float32),
        entities=tuple(sorted({name.name for name in find_names(values["text"])})),
        session=hash(values["session_id"]),
        occurred_at=microseconds(values["occurred_at"]),
        is_derived=bool(values["derived_from"]),
    )


def _cases(rows: Sequence[Row], forced: dict[str, set[str]]) -> Iterable[Case]:
    if not rows:
        return
    vectors = np.array([row.statement.vector for row in rows])
    own = [terms_of(row.statement.text) for row in rows]
    wide = [terms_of(f"{row.statement.text}\n{row.statement.context}") for row in rows]
    counts, wide_counts = Counter[str](), Counter[str]()
    for at, row in enumerate(rows):
        first = next(n for n, one in enumerate(rows) if one.document == row.document)
        if first:
            cosines = vectors[:first] @ vectors[at]
            by_words = _bm25(own[at], own[:first], counts)
            orders = (
                _best(cosines, DENSE),
                _best(by_words, LEXICAL),
                _best(_bm25(own[at], wide[:first], wide_counts), IN_CONTEXT),
            )
            chosen = {n for order in orders for n in order}
            for count, order in zip(WITH_NEIGHBOURS, orders, strict=False):
                for near in order[:count]:
                    chosen |= _neighbours(rows, near, first)
            chosen |= set(range(max(0, first - RECENT), first))
            chosen |= {n for n in range(first) if rows[n].document in forced.get(row.document, ())}
            chosen = _one_a_document(rows, chosen, cosines)
            weights = {word: idf(counts[word], first) for word in sorted(own[at])}
            candidates = tuple(
                Candidate(
                    rows[n].statement,
                    exact=rows[n].content == row.content,
                    lexical=share(weights, own[n]),
                    cosine=float(cosines[n]),
                )
                for n in sorted(chosen)
            )
            yield Case(
                row.document, row.statement, tuple(rows[n].document for n in sorted(chosen)), candidates
            )
        counts.update(own[at])
        wide_counts.update(wide[at])


def terms_of(text: str) -> frozenset[str]:
    """Words without function words."""
    return frozenset(word for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS)


def idf(count: int, size: int) -> float:
    """Rarity of a word that `count` of `size` texts have."""
    return math.log(1 + (size - min(count, size) + 0.5) / (min(count, size) + 0.5))


def _bm25(
    query: frozenset[str], texts: Sequence[frozenset[str]], counts: Counter[str]
) -> NDArray[np.float64]:
    mean = max(1.0, sum(map(len, texts)) / max(1, len(texts)))
    weights = {word: idf(counts[word], len(texts)) for word in sorted(query)}
    scores = np.zeros(len(texts))
    for at, text in enumerate(texts):
        found = sum(weight for word, weight in weights.items() if word in text)
        scores[at] = found * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * len(text) / mean))
    return scores


def _best(scores: NDArray[Any], count: int) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:count]
    return [int(at) for at in order if scores[at] > 0]


def _neighbours(rows: Sequence[Row], near: int, end: int) -> set[int]:
    session = rows[near].statement.session
    around = range(max(0, near - REACH), min(end, near + REACH + 1))
    return {at for at in around if rows[at].statement.session == session}


def _one_a_document(rows: Sequence[Row], chosen: set[int], cosines: NDArray[Any]) -> set[int]:
    best: dict[str, int] = {}
    for at in sorted(chosen):
        other = best.get(rows[at].document)
        if other is None or cosines[at] > cosines[other]:
            best[rows[at].document] = at
    return set(best.values())


def share(weights: dict[str, float], text: frozenset[str]) -> float:
    """Share of the weights of a text's words that another text has."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in text) / total if total else 0.0
