"""Questions for something that nobody ever told about a name the tenant knows: a phone number, a price.

People ask these of a memory, and they are the hardest that have no answer: the name, and often the thing, are
in the store. The development sets hold forty-three real ones. These are made from templates, and from names
that are found in the texts.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from helix_lab.calibration.unanswerable_questions import Asked
from helix_lab.sets.data import Document, EvaluationSet, Question

TEMPLATES: Final = (
    "what's {name}'s middle name?",
    "what is {name}'s email address?",
    "how much does {name} earn a month?",
    "which bank does {name} use?",
    "what's the licence plate of {name}'s car?",
    "how tall is {name}?",
    "what is {name}'s dentist called?",
    "what did {name} pay for the kitchen?",
    "which insurance company is {name} with?",
    "what's {name}'s blood type?",
    "how many steps did {name} walk yesterday?",
    "what is the wifi password at {name}'s place?",
    "what ring size does {name} wear?",
    "what time does {name} get up on sundays?",
    "who cut {name}'s hair last?",
    "what's the name of {name}'s hamster?",
    "what was the number of {name}'s flight?",
    "does {name} wear contact lenses?",
    "what was {name}'s grade in chemistry?",
    "how much did {name}'s glasses cost?",
)
NAMES: Final = 20
"""Names of a tenant that are asked about at most, the most frequent first."""
TENANTS: Final = 40
"""Tenants of a set that are asked at most."""
LOWER_CASE: Final = 0.3
"""Share of the questions that write the name without capitals, as people do."""
TEXT_CHARACTERS: Final = 2_000
_ROLES: Final = frozenset(["user", "assistant"])
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?")
_PLAIN: Final = re.compile(r"(?<![A-Za-z])[a-z]+")


def attribute_questions(host: EvaluationSet, *, count: int, seed: int) -> list[Asked]:
    """At most `count` questions to `host`, spread over its tenants; none without names."""
    drawn = random.Random(f"{seed} attributes {host.name}")  # noqa: S311 - which are asked is no secret
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    for document in host.documents:
        documents[document.tenant].append(document)
    moments: defaultdict[str, list[str]] = defaultdict(list)
    for question in host.questions:
        moments[question.tenant].append(question.timestamp)
    tenants = sorted(moments)
    tenants = drawn.sample(tenants, min(TENANTS, len(tenants)))
    names = {tenant: found for tenant in tenants if (found := names_of(documents[tenant]))}
    asked = []
    for number in range(count if names else 0):
        tenant = list(names)[number % len(names)]
        name = drawn.choice(names[tenant])
        text = TEMPLATES[number % len(TEMPLATES)].format(
            name=name.lower() if drawn.random() < LOWER_CASE else name
        )
        question = Question(f"attribute/{number}", text, "", drawn.choice(moments[tenant]), tenant)
        asked.append(Asked(question, "attribute", host.name))
    return asked


def names_of(documents: Sequence[Document]) -> list[str]:
    """Speakers, and words inside sentences that mostly have a capital; the most frequent first."""
    names: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for document in documents:
        text = document.text[:TEXT_CHARACTERS]
        if document.speaker and document.speaker.lower() not in _ROLES:
            names[document.speaker] += 2
        names.update(_NAME.findall(text))
        plain.update(_PLAIN.findall(text))
    kept = [name for name, times in names.most_common() if times > max(1, plain[name.lower()])]
    return kept[:NAMES]
