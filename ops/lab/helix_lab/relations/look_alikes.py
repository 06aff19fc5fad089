"""Pairs that look alike and replace nothing: documents of a set without updates, and their nearest."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import numpy as np

from helix_consolidation.relations.statement import Candidate, Statement
from helix_lab.relations.pairing import Case
from helix_lab.sets.data import Document, EvaluationSet, spread
from helix_shared.artifacts.lexicon.analysis import idf
from helix_shared.encoders.encoder import Encoder
from helix_shared.moments import MICROSECONDS_PER_DAY
from helix_shared.naming import find_names
from helix_shared.naming.words import FUNCTION_WORDS

NEAREST: Final = 12
_WORD: Final = re.compile(r"\w+")


def look_alikes(data: EvaluationSet, encoder: Encoder, most: int) -> dict[str, list[Case]]:
    """Cases of `most` documents, evenly spread: the `NEAREST` of the same tenant and before it.

    Returned by the name of the set, as `cases_of` does by tenant.
    """
    documents = spread(data.documents, most)
    vectors = encoder.embed_many([document.text for document in documents])
    statements = [_statement(one, vectors[at], at) for at, one in enumerate(documents)]
    terms = [_terms(document.text) for document in documents]
    counts = Counter(word for words in terms for word in words)
    found: list[Case] = []
    for at, document in enumerate(documents):
        cosines = vectors[:at] @ vectors[at]
        order = np.argsort(-cosines, kind="stable").tolist()
        own = [earlier for earlier in order if documents[earlier].tenant == document.tenant]
        if chosen := sorted(own[:NEAREST]):
            weights = {word: idf(counts[word], len(documents)) for word in sorted(terms[at])}
            candidates = tuple(
                Candidate(statements[n], lexical=_share(weights, terms[n]), cosine=float(cosines[n]))
                for n in chosen
            )
            found.append(
                Case(document.id, statements[at], tuple(documents[n].id for n in chosen), candidates)
            )
    return {data.name: found}


def _statement(document: Document, vector: np.ndarray, at: int) -> Statement:
    role = document.speaker if document.speaker in {"user", "assistant"} else "user"
    return Statement(
        document.text,
        vector,
        title=document.title,
        speaker="" if role == document.speaker else document.speaker,
        role=role,
        source_class="agent" if role == "assistant" else "user",
        entities=tuple(sorted({name.name for name in find_names(document.text[:1_000])})),
        session=at,
        occurred_at=at * MICROSECONDS_PER_DAY,
    )


def _terms(text: str) -> frozenset[str]:
    """Words without function words."""
    return frozenset(word for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS)


def _share(weights: dict[str, float], text: frozenset[str]) -> float:
    """Share of the weights of a text's words that another text has."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in text) / total if total else 0.0
