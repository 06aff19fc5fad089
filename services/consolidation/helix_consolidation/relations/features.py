"""Features of a new statement beside each of its candidates, as rows of one matrix.

All lie between -1 and 3. `NAMES` gives the columns; the model's coefficients go by these names.
"""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_consolidation.relations.statement import Candidate, Statement
from helix_consolidation.relations.words.quantities import Quantity
from helix_consolidation.relations.words.reading import Reading, content_words, read
from helix_shared.moments import MICROSECONDS_PER_DAY

_CACHED: Final = 8_192
_CONTEXT_LINES: Final = 2
_COUNTED: Final = 3
"""Words of change, values and shared words count up to this many."""

_OF_NEW: Final = (
    "new_short", "new_change", "new_sure_change", "new_back", "new_negated", "new_hypothetical", "new_plan",
    "new_done", "new_asks", "new_only_asks", "new_assistant", "new_values",
)  # fmt: skip
_OF_OLD: Final = (
    "old_short", "old_negated", "old_hypothetical", "old_plan", "old_done", "old_asks", "old_only_asks",
    "old_assistant", "old_values",
)  # fmt: skip
_OF_BOTH: Final = (
    "cosine", "rank", "above_mean", "lexical", "jaccard", "newer_candidates", "same_speaker", "same_session",
    "gap", "negation_differs",
)  # fmt: skip
_OF_VALUES: Final = (
    "equal_values", "all_values_equal", "other_value", "old_value_named", "same_codes", "other_codes",
)  # fmt: skip
_OF_SUBJECT: Final = (
    "shared_words", "rare_shared", "share_of_new", "share_of_old", "context_of_new", "context_of_old",
)  # fmt: skip
_OF_PRODUCTS: Final = (
    "cosine*change", "cosine*value", "share*value", "share*negation", "share*equal", "plan*done",
)  # fmt: skip

NAMES: Final = (*_OF_NEW, *_OF_OLD, *_OF_BOTH, *_OF_VALUES, *_OF_SUBJECT, *_OF_PRODUCTS)
"""Columns of `features`."""


def features(new: Statement, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Features of `new` beside each candidate, float64 [len(candidates), len(NAMES)]."""
    if not candidates:
        return np.zeros((0, len(NAMES)))
    this, this_context = read(new.text), _context(new.context)
    others = [read(candidate.statement.text) for candidate in candidates]
    rarity = _Rarity(this.words, [other.words for other in others])
    of_new = _of_new(new, this)
    cosines = [candidate.cosine for candidate in candidates]
    mean, ranks = sum(cosines) / len(cosines), _ranks(cosines)
    times = sorted(candidate.statement.occurred_at for candidate in candidates)
    rows = []
    for candidate, other, rank in zip(candidates, others, ranks, strict=True):
        old = candidate.statement
        later = len(times) - bisect_right(times, old.occurred_at)
        values = _of_values(this.quantities, other.quantities)
        subject = _of_subject(rarity, this, this_context, other, _context(old.context))
        both = (
            candidate.cosine,
            1.0 / (1.0 + rank),
            4 * (candidate.cosine - mean),
            candidate.lexical,
            1.0 if candidate.exact else candidate.jaccard,
            later / len(times),
            float((new.role, new.speaker) == (old.role, old.speaker)),
            float(new.session == old.session != 0),
            math.log1p(max(0, new.occurred_at - old.occurred_at) / MICROSECONDS_PER_DAY) / 4,
            float(this.negated != other.negated),
        )
        share = subject[3]
        products = (
            candidate.cosine * of_new[1],
            candidate.cosine * values[2],
            share * values[2],
            share * both[9],
            share * values[1],
            float(other.plan and this.done),
        )
        rows.append((*of_new, *_of_old(old, other), *both, *values, *subject, *products))
    return np.array(rows, dtype=np.float64)


@functools.lru_cache(_CACHED)
def _context(context: str) -> frozenset[str]:
    """Content words of the last turns in `Statement.context`, without their speakers."""
    if not context:
        return frozenset()
    lines = context.rsplit("\n", _CONTEXT_LINES)[-_CONTEXT_LINES:]
    return content_words("\n".join(line.partition(": ")[2] or line for line in lines))


def _ranks(values: Sequence[float]) -> list[int]:
    """The place of each value among all, 0 for the highest; the earlier of equal ones comes first."""
    ranks = [0] * len(values)
    for rank, at in enumerate(sorted(range(len(values)), key=lambda at: -values[at])):
        ranks[at] = rank
    return ranks


class _Rarity:
    """Weights of words by how few of the statements at hand contain them."""

    def __init__(self, new: frozenset[str], others: Sequence[frozenset[str]]) -> None:
        counts = Counter(itertools.chain(new, *others))
        size = len(others) + 2.0
        self._weights = {word: math.log(size / (count + 0.5)) for word, count in counts.items()}
        self._unseen = math.log(2 * size)
        self.of_new = self.of(new)
        """Of the words of the new statement."""

    def of(self, words: Iterable[str]) -> float:
        """The sum, exact before it is rounded: a set has another order in each process."""
        get, unseen = self._weights.get, self._unseen
        return math.fsum([get(word, unseen) for word in words])


def _of_new(new: Statement, this: Reading) -> tuple[float, ...]:
    return (
        1.0 / (1.0 + this.length / 8),
        min(this.change, _COUNTED) / 2,
        float(this.sure_change),
        float(this.back),
        float(this.negated),
        float(this.hypothetical or new.speech_act == "hypothetical"),
        float(this.plan),
        float(this.done),
        float(this.asks),
        float(this.only_asks or new.speech_act == "question"),
        float(new.role == "assistant"),
        min(len(this.quantities), _COUNTED) / 2,
    )


def _of_old(old: Statement, other: Reading) -> tuple[float, ...]:
    return (
        1.0 / (1.0 + other.length / 8),
        float(other.negated),
        float(other.hypothetical or old.speech_act == "hypothetical"),
        float(other.plan),
        float(other.done),
        float(other.asks),
        float(other.only_asks or old.speech_act == "question"),
        float(old.role == "assistant"),
        min(len(other.quantities), _COUNTED) / 2,
    )


def _of_values(new: frozenset[Quantity], old: frozenset[Quantity]) -> tuple[float, ...]:
    if not new or not old:
        return (0.0,) * len(_OF_VALUES)
    equal = sum(any(_is_equal(one, other) for other in old) for one in new)
    news, olds = _by_kind(new), _by_kind(old)
    common = news.keys() & olds.keys()
    codes = news.get("code", set()), olds.get("code", set())
    return (
        min(equal, 2) / 2,
        float(equal == len(new)),
        min(sum(not news[kind] & olds[kind] for kind in common), 2) / 2,
        float(any(news[kind] & olds[kind] and news[kind] - olds[kind] for kind in common)),
        float(bool(codes[0] & codes[1])),
        float(bool(codes[0] and codes[1]) and not codes[0] & codes[1]),
    )


def _is_equal(one: Quantity, other: Quantity) -> bool:
    return one.value == other.value and (
        one.kind == other.kind or {one.kind, other.kind} == {"day", "number"}
    )


def _by_kind(quantities: frozenset[Quantity]) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = {}
    for quantity in quantities:
        kinds.setdefault(quantity.kind, set()).add(quantity.value)
    return kinds


def _of_subject(
    rarity: _Rarity,
    this: Reading,
    this_context: frozenset[str],
    other: Reading,
    other_context: frozenset[str],
) -> tuple[float, ...]:
    """What both are about: shared content words, also with what was said just before each of them."""
    shared = this.words & other.words
    common, of_new, of_old = rarity.of(shared), rarity.of_new, rarity.of(other.words)
    return (
        min(len(shared), _COUNTED + 1) / 2,
        min(3.0, common / 3),
        _share(common, of_new),
        _share(common, of_old),
        _share(rarity.of((this_context - this.words) & other.words), of_old),
        _share(rarity.of(this.words & (other_context - other.words)), of_new),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
