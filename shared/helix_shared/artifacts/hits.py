"""Hits: ordinals with scores, best first, as searches return them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MAX_HITS: Final = 10_000
"""A search returns so many at most."""
_SORTED_MULTIPLE: Final = 4
"""Up to this multiple of the limit, all scores are sorted; beyond, the best are selected first."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Distinct ordinals [n] and their scores [n], best first. Scores of two channels are not comparable."""

    ordinals: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ordinals)

    @classmethod
    def none(cls) -> Hits:
        """No hits."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))

    def scores_of(self, ordinals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores [n] of `ordinals` [n]; 0 for an ordinal that is not among the hits."""
        if not len(self):
            return np.zeros(len(ordinals))
        order = np.argsort(self.ordinals)
        places = order[np.minimum(np.searchsorted(self.ordinals[order], ordinals), len(order) - 1)]
        return np.where(self.ordinals[places] == ordinals, self.scores[places], 0.0).astype(np.float64)

    def with_ties_by(self, keys: Callable[[NDArray[np.int64]], NDArray[np.integer[Any]]]) -> Hits:
        """Equal scores by the `keys` [n] of their ordinals [n], then by ordinal."""
        if not (self.scores[1:] == self.scores[:-1]).any():
            return self
        order = np.lexsort((self.ordinals, keys(self.ordinals), -self.scores))
        return Hits(self.ordinals[order], self.scores[order])

    @classmethod
    def ranked(cls, ordinals: NDArray[np.int64], scores: NDArray[np.float32], *, limit: int) -> Hits:
        """The `limit` best; ties go to the lowest ordinals, so that the order of files does not matter."""
        if len(scores) > _SORTED_MULTIPLE * limit:
            best = np.flatnonzero(~(scores < np.partition(scores, -limit)[-limit]))
            ordinals, scores = ordinals[best], scores[best]
        order = np.lexsort((ordinals, -scores))[:limit]
        return cls(ordinals[order], scores[order])
