"""Foreign questions, which a corpus cannot answer: those of other tenants and of other sets.

A question about another conversation is the case that abstention is for. A question about another field is
easy, so it has less weight (`sample_weights`). A question is not asked of a corpus that holds its relevant
documents, nor between two tenants that share documents.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from helix_lab.sets.data import Document, EvaluationSet, Question

Kind = Literal["answerable", "unanswerable", "attribute", "stranger"]

OWN: Final = 4
"""Questions of other tenants of one set are the realistic ones, so more of them are asked."""
MOST_SHARED: Final = 0.1
"""Of the smaller one's texts or titles; tenants that share more are not asked each other's questions."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is asked of a corpus."""

    question: Question
    kind: Kind
    donor: str
    """The set it comes from."""


@dataclass(frozen=True, slots=True)
class _World:
    """The documents and questions of one tenant."""

    texts: set[str] = field(default_factory=set)
    titles: set[str] = field(default_factory=set)

    def holds(self, document: Document) -> bool:
        titled = bool(document.title) and document.title in self.titles
        return titled or _digest(document.text) in self.texts

    def shares_with(self, other: _World) -> bool:
        shares = (
            len(mine & theirs) / max(min(len(mine), len(theirs)), 1)
            for mine, theirs in ((self.texts, other.texts), (self.titles, other.titles))
        )
        return max(shares) > MOST_SHARED


def asked_of(host: EvaluationSet, sets: Sequence[EvaluationSet], *, strangers: int, seed: int) -> list[Asked]:
    """The questions of `host`, then at most `strangers` of each of `sets`.

    If `host` is one of `sets`, its tenants get each other's questions, `OWN` times as many. A foreign
    question is asked at the moment of one of the host's own questions.
    """
    own = [Asked(question, "answerable", host.name) for question in host.answerable]
    own += [Asked(question, "unanswerable", host.name) for question in host.unanswerable]
    worlds = {one.name: _worlds(one) for one in (host, *sets)}
    drawn = random.Random(f"{seed} {host.name}")  # noqa: S311 - which questions are asked is no secret
    hosts: defaultdict[str, list[Question]] = defaultdict(list)
    for question in host.questions:
        hosts[question.tenant].append(question)
    for donor in sets:
        candidates = drawn.sample(donor.answerable, len(donor.answerable))
        found = (_stranger(one, donor, host, hosts, worlds, drawn) for one in candidates)
        most = strangers * (OWN if donor.name == host.name else 1)
        own += itertools.islice((one for one in found if one is not None), most)
    return own


def _stranger(
    question: Question,
    donor: EvaluationSet,
    host: EvaluationSet,
    hosts: dict[str, list[Question]],
    worlds: dict[str, dict[str, _World]],
    drawn: random.Random,
) -> Asked | None:
    tenants = sorted(tenant for tenant in hosts if (host.name, tenant) != (donor.name, question.tenant))
    if not tenants:
        return None
    tenant = drawn.choice(tenants)
    here, home = worlds[host.name].get(tenant), worlds[donor.name].get(question.tenant)
    if here is None or home is None or here.shares_with(home):
        return None
    relevant = donor.relevant[question.id]
    if any(here.holds(document) for document in donor.documents if document.id in relevant):
        return None
    asked_at = drawn.choice(hosts[tenant]).timestamp
    strange = replace(question, id=f"{donor.name}/{question.id}", tenant=tenant, timestamp=asked_at)
    return Asked(strange, "stranger", donor.name)


def _worlds(data: EvaluationSet) -> dict[str, _World]:
    worlds: defaultdict[str, _World] = defaultdict(_World)
    for document in data.documents:
        worlds[document.tenant].texts.add(_digest(document.text))
        if document.title:
            worlds[document.tenant].titles.add(document.title)
    return worlds


def _digest(text: str) -> str:
    return hashlib.blake2b(" ".join(text.lower().split()).encode(), digest_size=12).hexdigest()
