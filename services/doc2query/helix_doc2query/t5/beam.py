"""Beam search over a model that gives the probability of the next token.

With one beam it is greedy search. The result depends on nothing but the model: equal scores keep the order of
the tokens, and the number of steps is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

NextTokens: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Token prefixes [b, n] -> log probabilities of the next token [b, vocabulary]."""


@dataclass(frozen=True, slots=True)
class _Beam:
    tokens: tuple[int, ...]
    score: float
    """Sum of the log probabilities."""

    @property
    def mean(self) -> float:
        """The score by token, so that long sequences are not at a disadvantage."""
        return self.score / max(1, len(self.tokens) - 1)


def beam_search(
    next_tokens: NextTokens, *, start: int, end: int, beams: int, most_tokens: int
) -> list[tuple[int, ...]]:
    """At most `beams` sequences without `start` and `end`, best first, each of at most `most_tokens` tokens.

    The search ends when no open sequence has a better mean than the worst of `beams` finished ones. An open
    one that ends in very probable tokens could still pass it: to wait for that takes all `most_tokens` steps.
    """
    alive, finished = [_Beam((start,), 0.0)], list[_Beam]()
    for _ in range(most_tokens):
        following = _extended(alive, next_tokens, beams)
        finished += [beam for beam in following if beam.tokens[-1] == end]
        alive = [beam for beam in following if beam.tokens[-1] != end][:beams]
        finished = sorted(finished, key=_best_first)[:beams]
        if not alive or (len(finished) == beams and finished[-1].mean >= alive[0].mean):
            break
    ranked = sorted([*finished, *alive], key=_best_first) if len(finished) < beams else finished
    sequences = (tuple(token for token in beam.tokens[1:] if token != end) for beam in ranked)
    return [sequence for sequence in dict.fromkeys(sequences) if sequence][:beams]


def _extended(alive: list[_Beam], next_tokens: NextTokens, beams: int) -> list[_Beam]:
    """The most probable continuations, best first; twice as many as beams, because half may end."""
    scores = next_tokens(np.array([beam.tokens for beam in alive], np.int64))
    totals = scores + np.array([beam.score for beam in alive])[:, None]
    flat = totals.ravel()
    most = min(2 * beams, flat.size)
    chosen = np.argpartition(-flat, most - 1)[:most]
    # argpartition leaves equal scores in any order
    ordered = sorted(chosen.tolist(), key=lambda place: (-flat[place], place))
    width = scores.shape[1]
    return [
        _Beam((*alive[place // width].tokens, place % width), float(flat[place]))
        for place in ordered
        if np.isfinite(flat[place])
    ]


def _best_first(beam: _Beam) -> tuple[float, tuple[int, ...]]:
    return -beam.mean, beam.tokens
