"""Candidates in one group: equal content, nearest vectors, shared rare words, and what was said beside those.

"Moved to 10 May" is near no earlier statement of the exam, but the turn before it is: so the neighbours, in
their session, of the best candidates are candidates too, and the last statements whatever they say.

Statements have positions in the order of the log. A statement is compared with the `WINDOW` before its event,
so the cost of a statement is bounded. What is found depends on the statements alone, not on how many are
searched at once: dot products are exact (`quantised`), and ties go to the later position.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.statements.quantised import dot_products, length_of
from helix_shared.artifacts.lexicon.analysis import idf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from helix_consolidation.statements.statement_row import StatementRow

WINDOW: Final = 20_000
"""Statements before an event that are compared with those of the event."""
DENSE_CANDIDATES: Final = 16
LEXICAL_CANDIDATES: Final = 8
EXACT_CANDIDATES: Final = 2
"""Candidates by vector, by words and by equal content."""
DENSE_WITH_NEIGHBOURS: Final = 6
LEXICAL_WITH_NEIGHBOURS: Final = 3
"""The best by vector and by words whose neighbours are candidates too."""
NEIGHBOUR_REACH: Final = 2
"""Statements on either side of one, in its session, that are its neighbours."""
LAST_STATEMENTS: Final = 2
"""The last statements that are candidates whatever they say: "he's done" names nothing."""
_BLOCK: Final = 4_096
"""Vectors per matrix product."""
_FEW_QUERIES: Final = 128
_POSITION_BITS: Final = 20
_SCALE: Final = 2.0**30
_K1: Final = 1.2
_B: Final = 0.75
"""Constants of BM25; a word counts once a statement."""


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier statement of the group, by its number."""

    number: int
    exact: bool
    lexical: float
    cosine: float


class GroupIndex:
    """The last statements of one group; at least `WINDOW` of them if there are as many."""

    def __init__(self, numbers: Sequence[int], rows: Sequence[StatementRow]) -> None:
        dimensions = len(rows[0].vector) if rows else 0
        self._size = 0
        self._vectors = np.zeros((max(len(rows), 16), dimensions), np.int8)
        self._numbers = np.zeros(len(self._vectors), np.int64)
        self._sequences = np.zeros(len(self._vectors), np.int64)
        self._sessions = np.zeros(len(self._vectors), np.int64)
        self._lengths = np.ones(len(self._vectors), np.float64)
        self._word_counts = np.zeros(len(self._vectors) + 1, np.int64)
        """Words before each position, added up."""
        self._words: list[NDArray[np.uint32]] = []
        self._contents: dict[int, list[int]] = {}
        self._content_codes: list[int] = []
        self._postings: dict[int, array[int]] = {}
        self.extend(numbers, rows)

    def __len__(self) -> int:
        return self._size

    def extend(self, numbers: Sequence[int], rows: Sequence[StatementRow]) -> None:
        """Add later statements."""
        if not rows:
            return
        start, end = self._size, self._size + len(rows)
        self._reserve(end, len(rows[0].vector))
        self._vectors[start:end] = [row.vector for row in rows]
        self._numbers[start:end] = numbers
        self._sequences[start:end] = [row.sequence for row in rows]
        self._sessions[start:end] = [row.session for row in rows]
        self._lengths[start:end] = np.maximum(length_of(self._vectors[start:end]), 1.0)
        counts = np.cumsum([len(row.words) for row in rows])
        self._word_counts[start + 1 : end + 1] = self._word_counts[start] + counts
        for position, row in enumerate(rows, start):
            self._words.append(row.words)
            self._content_codes.append(row.content)
            self._contents.setdefault(row.content, []).append(position)
            for word in row.words.tolist():
                self._postings.setdefault(word, array("i")).append(position)
        self._size = end

    def search(self, count: int) -> list[list[Match]]:
        """Candidates of the last `count` statements, each in the order of the log."""
        queries = np.arange(self._size - count, self._size)
        # statements of one event are not compared with each other
        ends = np.searchsorted(self._sequences[: self._size], self._sequences[queries])
        starts = np.maximum(ends - WINDOW, 0)
        found: list[list[Match]] = []
        for first in range(0, count, _FEW_QUERIES):
            some = slice(first, first + _FEW_QUERIES)
            nearest = self._nearest(queries[some], starts[some], ends[some])
            for query, start, end, near in zip(
                queries[some].tolist(), starts[some].tolist(), ends[some].tolist(), nearest, strict=True
            ):
                found.append(self._matches(query, start, end, near))
        return found

    def _matches(self, query: int, start: int, end: int, nearest: NDArray[np.int64]) -> list[Match]:
        if start == end:
            return []
        shares, best = self._by_words(query, start, end)
        same = self._contents[self._content_codes[query]]
        equal = same[: bisect_left(same, end)][-EXACT_CANDIDATES:]
        found = np.unique(np.concatenate([nearest, best, [p for p in equal if p >= start]]).astype(np.int64))
        known = self._cosines(query, found)
        near = found[np.argsort(-known, kind="stable")[:DENSE_WITH_NEIGHBOURS]]
        beside = self._beside(np.union1d(near, best[:LEXICAL_WITH_NEIGHBOURS]), start, end)
        others = np.setdiff1d(
            np.concatenate([beside, np.arange(max(start, end - LAST_STATEMENTS), end)]), found
        )
        chosen = np.concatenate([found, others])
        order = np.argsort(chosen)
        chosen, cosines = chosen[order], np.concatenate([known, self._cosines(query, others)])[order]
        content = self._content_codes[query]
        return [
            Match(
                int(self._numbers[position]),
                exact=self._content_codes[position] == content,
                lexical=float(shares[position - start]),
                cosine=float(cosine),
            )
            for position, cosine in zip(chosen.tolist(), cosines, strict=True)
        ]

    def _beside(self, positions: NDArray[np.int64], start: int, end: int) -> NDArray[np.int64]:
        """The neighbours of `positions` in their sessions, from `start` to before `end`."""
        around = positions[:, None] + np.arange(-NEIGHBOUR_REACH, NEIGHBOUR_REACH + 1)
        inside = np.clip(around, start, end - 1)
        is_near = (around == inside) & (self._sessions[inside] == self._sessions[positions][:, None])
        beside: NDArray[np.int64] = inside[is_near & (self._sessions[inside] != 0)]
        return beside

    def _nearest(
        self, queries: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> list[NDArray[np.int64]]:
        """Positions of the nearest vectors of each query."""
        keys = np.full((len(queries), 0), -1, np.int64)
        mine, lengths = self._vectors[queries], self._lengths[queries][:, None]
        for first in range(int(starts.min()), int(ends.max()), _BLOCK):
            last = min(first + _BLOCK, int(ends.max()))
            positions = np.arange(first, last)
            cosines = dot_products(mine, self._vectors[first:last]) / (lengths * self._lengths[first:last])
            block = np.rint(cosines * _SCALE).astype(np.int64) << _POSITION_BITS | positions
            block[(positions < starts[:, None]) | (positions >= ends[:, None])] = _NOTHING
            keys = np.concatenate([keys, block], axis=1)
            if keys.shape[1] > DENSE_CANDIDATES:
                keys = np.partition(keys, keys.shape[1] - DENSE_CANDIDATES, axis=1)[:, -DENSE_CANDIDATES:]
        return [row[row != _NOTHING] & ((1 << _POSITION_BITS) - 1) for row in keys]

    def _cosines(self, query: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        products = dot_products(self._vectors[query : query + 1], self._vectors[others])[0]
        cosines: NDArray[np.float64] = products / (self._lengths[query] * self._lengths[others])
        return cosines

    def _by_words(self, query: int, start: int, end: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Rarity-weighted share of the query's words by position from `start`; the best by BM25, in order."""
        count, total, parts, weights = end - start, 0.0, [], []
        for word in self._words[query].tolist():
            posting = np.array(self._postings[word])
            inside = posting[slice(*np.searchsorted(posting, (start, end)))]
            weight = idf(len(inside), count)
            total += weight
            parts.append(inside - start)
            weights.append(np.full(len(inside), weight))
        if not parts or total <= 0:
            return np.zeros(count), np.zeros(0, np.int64)
        sums = np.bincount(np.concatenate(parts), np.concatenate(weights), minlength=count)
        there = np.flatnonzero(sums)
        words = np.diff(self._word_counts[start : end + 1])
        mean = max(float(self._word_counts[end] - self._word_counts[start]) / count, 1.0)
        scores = sums[there] * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * words[there] / mean))
        keys = np.rint(scores * 2.0**20).astype(np.int64) << _POSITION_BITS | there
        if len(keys) > LEXICAL_CANDIDATES:
            keys = np.partition(keys, len(keys) - LEXICAL_CANDIDATES)[-LEXICAL_CANDIDATES:]
        keys = -np.sort(-keys)
        return sums / total, (keys & ((1 << _POSITION_BITS) - 1)) + start

    def _reserve(self, size: int, dimensions: int) -> None:
        if size <= len(self._vectors) and dimensions == self._vectors.shape[1]:
            return
        grown = max(size, 2 * len(self._vectors)) - len(self._vectors)
        if not self._size:
            self._vectors = np.zeros((len(self._vectors), dimensions), np.int8)
        self._vectors = np.concatenate([self._vectors, np.zeros((grown, dimensions), np.int8)])
        self._lengths = np.concatenate([self._lengths, np.ones(grown)])
        for name in ("_numbers", "_sequences", "_sessions", "_word_counts"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(grown, np.int64)]))


_NOTHING: Final = -(1 << 62)
