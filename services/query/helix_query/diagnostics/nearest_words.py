"""Which word of each compared memory is nearest to each word of the query, for an explanation.

A recall needs the similarities alone; an explanation compares the tokens again to know where they come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.recall.evidence.late_interaction import similarities
from helix_shared.encoders.passages import before_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates, LateInteraction
    from helix_query.recall.context import RecallContext

UNKNOWN: Final = ""
"""In place of the words of a memory whose text is not stored any more."""


def nearest_words(context: RecallContext, candidates: Candidates) -> dict[int, tuple[str, ...]]:
    """By position: the word of the memory that is nearest to each word of the query."""
    late, signals = candidates.late, context.generation.signals
    if late is None:
        return {}
    ordinals = candidates.ordinals[late.positions]
    codes, ends = signals.token_codes(ordinals)
    lines = {line["ordinal"]: line for line in signals.records(ordinals)}
    compared = np.split(similarities(late.states, codes), ends[:-1])
    return {
        position: _words(context, lines.get(ordinal), _nearest_tokens(late, similarity), len(similarity))
        for position, ordinal, similarity in zip(
            late.positions.tolist(), ordinals.tolist(), compared, strict=True
        )
    }


def _nearest_tokens(late: LateInteraction, similarity: NDArray[np.float32]) -> list[int]:
    """For each word of the query, the token that is nearest to one of its states."""
    tokens = similarity.argmax(axis=0)
    found = []
    for word in range(len(late.words)):
        states = np.flatnonzero(late.word_of_state == word)
        best = states[np.argmax(similarity[tokens[states], states])]
        found.append(int(tokens[best]))
    return found


def _words(
    context: RecallContext, line: Mapping[str, Any] | None, tokens: list[int], count: int
) -> tuple[str, ...]:
    """The words that the tokens are pieces of; before the text stand its speaker or title."""
    if line is None:
        return (UNKNOWN,) * len(tokens)
    text = line["text"]
    spans = context.snapshot.encoder.coded_words(text, count, before_record(line))
    shown = line["speaker"] or line["title"]
    return tuple(shown if (span := spans[token]) is None else text[span[0] : span[1]] for token in tokens)
