"""Small stores cut out of an evaluation set: probabilities are also fitted where little is remembered.

A new user's store holds one to a hundred memories; a development set holds thousands. The largest cosine
and the rarity of words depend on how much there is to compare with, so a model that is fitted on large
sets alone is wrong for small stores. Each store is a tenant: a run of neighbouring documents of one tenant
of the set, with one answerable question, and with questions of that tenant whose answers are elsewhere.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from helix_lab.calibration.unanswerable_questions import Asked, Kind
from helix_lab.sets.data import Document, EvaluationSet, Question

SIZES: Final = (1, 3, 10, 30, 100)
"""Memories in a store."""
SUFFIX: Final = "~small"
"""Ends the name of a set of small stores."""
OTHERS: Final = 2
"""Questions without an answer, by store: as near to it as questions can be, since they share its tenant."""


@dataclass(frozen=True, slots=True)
class SmallStores:
    """Stores cut out of one set, and the questions asked of them."""

    data: EvaluationSet
    asked: tuple[Asked, ...]


def small_stores(
    host: EvaluationSet, *, sizes: Sequence[int] = SIZES, stores: int = 20, seed: int = 0
) -> SmallStores:
    """At most `stores` stores of each of `sizes` memories; a tenant with fewer documents gives none.

    The documents keep the order and the sessions of the set. The same seed gives the same stores.
    """
    drawn = random.Random(f"{seed} small {host.name}")  # noqa: S311 - which stores are cut is no secret
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    for document in host.documents:
        documents[document.tenant].append(document)
    questions: defaultdict[str, list[Question]] = defaultdict(list)
    for question in host.answerable:
        questions[question.tenant].append(question)
    name = host.name + SUFFIX
    cut: list[Document] = []
    asked: list[Asked] = []
    relevant: dict[str, dict[str, float]] = {}
    for size in sizes:
        fitting = [one for one in host.answerable if len(documents[one.tenant]) >= size]
        for question in drawn.sample(fitting, min(stores, len(fitting))):
            gains = host.relevant[question.id]
            run = _run_around(documents[question.tenant], gains, size, drawn)
            tenant = f"{question.tenant}/{question.id}/{size}"
            cut += [replace(one, id=f"{tenant}/{one.id}", tenant=tenant) for one in run]
            held = {one.id for one in run}
            for other, kind in _asked_of(question, questions[question.tenant], held, host, drawn):
                key = f"{tenant}/{other.id}"
                asked.append(Asked(replace(other, id=key, tenant=tenant), kind, name))
                if kind == "answerable":
                    relevant[key] = {f"{tenant}/{one}": gain for one, gain in gains.items() if one in held}
    data = EvaluationSet(name, cut, [one.question for one in asked], relevant)
    return SmallStores(data, tuple(asked))


def _run_around(
    documents: Sequence[Document], gains: dict[str, float], size: int, drawn: random.Random
) -> Sequence[Document]:
    """`size` neighbouring documents, the most relevant one among them."""
    best = max(gains.values())
    places = [place for place, one in enumerate(documents) if gains.get(one.id) == best]
    place = drawn.choice(places)
    first = max(0, min(place - drawn.randrange(size), len(documents) - size))
    return documents[first : first + size]


def _asked_of(
    question: Question,
    others: Sequence[Question],
    held: set[str],
    host: EvaluationSet,
    drawn: random.Random,
) -> Iterator[tuple[Question, Kind]]:
    """The store's own question, then `OTHERS` of its tenant with no relevant document in the store."""
    yield question, "answerable"
    without = [one for one in others if held.isdisjoint(host.relevant[one.id])]
    for other in drawn.sample(without, min(OTHERS, len(without))):
        yield other, "unanswerable"
