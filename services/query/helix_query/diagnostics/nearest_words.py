"""Which word of each compared memory is nearest to each word of the query, for an explanation.

A recall needs the similarities alone; an explanation compares the tokens again to know where they come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from helix_query.recall.evidence.late_interaction import similarities
from helix_shared.encoders.passages import before_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.candidates import Candidates, LateInteraction
    from helix_shared.encoders.encoder import Encoder


def nearest_words(
    snapshot: Snapshot,
    candidates: Candidates,
    rows: Mapping[int, Mapping[str, Any]],
    listed: Sequence[int],
) -> dict[int, tuple[str, ...]]:
    """The nearest word of the memory to each word of the query, by position of the compared among `listed`.

    Those without a row are left out: the caller may not see them.
    """
    late = candidates.late_interaction
    if late is None:
        return {}
    shown = rows.keys() & set(listed)
    wanted = np.array([one for one in late.positions.tolist() if one in shown], np.int64)
    if not len(wanted):
        return {}
    codes, ends = snapshot.generation.signals.token_codes(candidates.ordinals[wanted])
    compared = np.split(similarities(late.states, codes), ends[:-1])
    return {
        position: _words(snapshot.encoder, rows[position], _nearest_tokens(late, similarity), len(similarity))
        for position, similarity in zip(wanted.tolist(), compared, strict=True)
    }


def _nearest_tokens(late: LateInteraction, similarity: NDArray[np.float32]) -> list[int]:
    """For each word of the query, the token that is nearest to one of its states."""
    tokens, best = similarity.argmax(axis=0), similarity.max(axis=0)
    by_word = np.lexsort((-best, late.word_of_state))
    firsts = np.searchsorted(late.word_of_state[by_word], np.arange(len(late.words)))
    found: list[int] = tokens[by_word[firsts]].tolist()
    return found


def _words(encoder: Encoder, row: Mapping[str, Any], tokens: list[int], count: int) -> tuple[str, ...]:
    """The words that the tokens are pieces of; before the text stand its speaker or title."""
    text = row["text"]
    spans = encoder.coded_words(text, count, before_record(row))
    shown = row["speaker"] or row["title"]
    return tuple(shown if (span := spans[token]) is None else text[span[0] : span[1]] for token in tokens)
