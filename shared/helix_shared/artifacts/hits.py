"""What a channel answers: ordinals with scores, best first; the fuser comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


FEW: Final = 4
"""Up to so many times the limit all are sorted."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Best first, of equal length, no ordinal twice. Scores compare within one channel only."""

    ordinals: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ordinals)

    @classmethod
    def none(cls) -> Hits:
        """No hit at all."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))

    def scores_of(self, ordinals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score of each of `ordinals`; 0 for who is not among the hits."""
        if not len(self):
            return np.zeros(len(ordinals))
        order = np.argsort(self.ordinals)
        places = order[np.minimum(np.searchsorted(self.ordinals[order], ordinals), len(order) - 1)]
        return np.where(self.ordinals[places] == ordinals, self.scores[places], 0.0).astype(np.float64)

    @classmethod
    def ranked(cls, ordinals: NDArray[np.int64], scores: NDArray[np.float32], *, limit: int) -> Hits:
        """The `limit` best; equal scores by ordinal, so that an answer never depends on file order."""
        if len(scores) > FEW * limit:
            # sorting thousands for the best hundred costs more than finding them
            best = np.flatnonzero(~(scores < np.partition(scores, -limit)[-limit]))
            ordinals, scores = ordinals[best], scores[best]
        order = np.lexsort((ordinals, -scores))[:limit]
        return cls(ordinals[order], scores[order])
