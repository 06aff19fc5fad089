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
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from helix_consolidation.relations.statement import Candidate, Statement
from helix_consolidation.relations.words.quantities import Quantity
from helix_consolidation.relations.words.reading import Reading, content_words, read
from helix_shared.moments import MICROSECONDS_PER_DAY

_CACHED: Final = 8_192
_CONTEXT_LINES: Final = 2
_MAX_COUNT: Final = 3
"""Words of change, values and shared words count up to this many."""


class _OfNew(NamedTuple):
    """How the new statement speaks."""

    new_short: float
    new_change: float
    new_sure_change: float
    new_back: float
    new_negated: float
    new_hypothetical: float
    new_plan: float
    new_done: float
    new_asks: float
    new_only_asks: float
    new_assistant: float
    new_values: float


class _OfOld(NamedTuple):
    """How a candidate speaks."""

    old_short: float
    old_negated: float
    old_hypothetical: float
    old_plan: float
    old_done: float
    old_asks: float
    old_only_asks: float
    old_assistant: float
    old_values: float


class _OfBoth(NamedTuple):
    """How near they are, in meaning, words and time, and who said them."""

    cosine: float
    rank: float
    above_mean: float
    lexical: float
    jaccard: float
    newer_candidates: float
    same_speaker: float
    same_session: float
    gap: float
    negation_differs: float


class _OfValues(NamedTuple):
    """Which values they share, and which differ."""

    equal_values: float = 0.0
    all_values_equal: float = 0.0
    other_value: float = 0.0
    old_value_named: float = 0.0
    same_codes: float = 0.0
    other_codes: float = 0.0


class _OfSubject(NamedTuple):
    """What both are about: shared content words, also with what was said just before each of them."""

    shared_words: float
    rare_shared: float
    share_of_new: float
    share_of_old: float
    context_of_new: float
    context_of_old: float


_PRODUCTS: Final = (
    "cosine*change", "cosine*value", "share*value", "share*negation", "share*equal", "plan*done",
)  # fmt: skip

NAMES: Final = (
    *(name for group in (_OfNew, _OfOld, _OfBoth, _OfValues, _OfSubject) for name in group._fields),
    *_PRODUCTS,
)
"""Columns of `features`."""


def features(new: Statement, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Features of `new` beside each candidate, float64 [len(candidates), len(NAMES)]."""
    if not candidates:
        return np.zeros((0, len(NAMES)))
    new_reading, new_context = read(new.text), _context(new.context)
    old_readings = [read(candidate.statement.text) for candidate in candidates]
    rarity = _Rarity(new_reading.words, [reading.words for reading in old_readings])
    of_new = _of_new(new, new_reading)
    cosines = [candidate.cosine for candidate in candidates]
    mean, ranks = sum(cosines) / len(cosines), _ranks(cosines)
    times = sorted(candidate.statement.occurred_at for candidate in candidates)
    rows = []
    for candidate, old_reading, rank in zip(candidates, old_readings, ranks, strict=True):
        old = candidate.statement
        later = len(times) - bisect_right(times, old.occurred_at)
        values = _of_values(new_reading.quantities, old_reading.quantities)
        subject = _of_subject(rarity, new_reading, new_context, old_reading, _context(old.context))
        both = _OfBoth(
            candidate.cosine,
            1.0 / (1.0 + rank),
            4 * (candidate.cosine - mean),
            candidate.lexical,
            1.0 if candidate.exact else candidate.jaccard,
            later / len(times),
            float((new.role, new.speaker) == (old.role, old.speaker)),
            float(new.session == old.session != 0),
            math.log1p(max(0, new.occurred_at - old.occurred_at) / MICROSECONDS_PER_DAY) / 4,
            float(new_reading.negated != old_reading.negated),
        )
        share = subject.share_of_old
        products = (
            both.cosine * of_new.new_change,
            both.cosine * values.other_value,
            share * values.other_value,
            share * both.negation_differs,
            share * values.all_values_equal,
            float(old_reading.plan and new_reading.done),
        )
        rows.append((*of_new, *_of_old(old, old_reading), *both, *values, *subject, *products))
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


def _of_new(new: Statement, new_reading: Reading) -> _OfNew:
    return _OfNew(
        1.0 / (1.0 + new_reading.length / 8),
        min(new_reading.change, _MAX_COUNT) / 2,
        float(new_reading.sure_change),
        float(new_reading.back),
        float(new_reading.negated),
        float(new_reading.hypothetical or new.speech_act == "hypothetical"),
        float(new_reading.plan),
        float(new_reading.done),
        float(new_reading.asks),
        float(new_reading.only_asks or new.speech_act == "question"),
        float(new.role == "assistant"),
        min(len(new_reading.quantities), _MAX_COUNT) / 2,
    )


def _of_old(old: Statement, old_reading: Reading) -> _OfOld:
    return _OfOld(
        1.0 / (1.0 + old_reading.length / 8),
        float(old_reading.negated),
        float(old_reading.hypothetical or old.speech_act == "hypothetical"),
        float(old_reading.plan),
        float(old_reading.done),
        float(old_reading.asks),
        float(old_reading.only_asks or old.speech_act == "question"),
        float(old.role == "assistant"),
        min(len(old_reading.quantities), _MAX_COUNT) / 2,
    )


def _of_values(new: frozenset[Quantity], old: frozenset[Quantity]) -> _OfValues:
    if not new or not old:
        return _OfValues()
    equal = sum(any(_is_equal(one, other) for other in old) for one in new)
    news, olds = _by_kind(new), _by_kind(old)
    common = news.keys() & olds.keys()
    codes = news.get("code", set()), olds.get("code", set())
    return _OfValues(
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
    new_reading: Reading,
    new_context: frozenset[str],
    old_reading: Reading,
    old_context: frozenset[str],
) -> _OfSubject:
    shared = new_reading.words & old_reading.words
    common, of_new, of_old = rarity.of(shared), rarity.of_new, rarity.of(old_reading.words)
    return _OfSubject(
        min(len(shared), _MAX_COUNT + 1) / 2,
        min(3.0, common / 3),
        _share(common, of_new),
        _share(common, of_old),
        _share(rarity.of((new_context - new_reading.words) & old_reading.words), of_old),
        _share(rarity.of(new_reading.words & (old_context - old_reading.words)), of_new),
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
