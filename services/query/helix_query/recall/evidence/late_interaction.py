"""Late interaction: the similarity of every word of the query with the nearest word of a memory.

ColBERT's MaxSim (Khattab, Zaharia 2020) on the token states of the embedding model itself. A token of a
memory is stored as signs (decision 0048), the query stays as it is. A word of several tokens is their mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


BLOCK_TOKENS: Final = 512
"""Tokens whose signs are unpacked at once: 256 KiB of floats, which the cache of a core holds."""
_LEAST_LENGTH: Final = np.float32(1e-12)
_STEP: Final = np.float32(2.0**-22)


def similarities(states: NDArray[np.float32], codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Cosine of every state of the query with the signs of every token: [tokens, states], -1 to 1.

    `states` is [states, bits]; `codes` [tokens, bits / 8], a set bit for +1, else -1.
    """
    bits = states.shape[1]
    lengths = np.linalg.norm(states, axis=1, keepdims=True) * np.float32(np.sqrt(bits))
    units = (states / np.maximum(lengths, _LEAST_LENGTH)).T
    # Multiples of the step, whose sums of absolute values are at most 2, are summed without an error, in
    # whatever order the product sums them: a result does not depend on the other tokens.
    units = np.rint(units / _STEP) * _STEP
    # A sum over +1 and -1 is twice the sum over the set bits less the sum of all.
    doubled, whole = np.ascontiguousarray(2.0 * units), units.sum(axis=0)
    found = np.empty((len(codes), len(states)), np.float32)
    signs = np.empty((min(BLOCK_TOKENS, len(codes)), bits), np.float32)
    for start in range(0, len(codes), BLOCK_TOKENS):
        some = codes[start : start + BLOCK_TOKENS]
        signs[: len(some)] = np.unpackbits(some, axis=1, count=bits)
        np.matmul(signs[: len(some)], doubled, out=found[start : start + len(some)])
    found -= whole
    return found


def nearest_tokens(
    similarity: NDArray[np.float32], ends: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The greatest similarity of every state with a token of each memory, and which memories have tokens.

    `similarity` is [tokens, states]; `ends` [memories] where the tokens of each memory end, ascending.
    Returns [memories with tokens, states] and the places of these memories in `ends`.
    """
    starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
    filled = np.flatnonzero(ends > starts)
    if not len(filled):
        return np.empty((0, similarity.shape[1]), np.float32), filled
    best: NDArray[np.float32] = np.maximum.reduceat(similarity, starts[filled], axis=0)
    return best, filled


def word_similarities(
    best: NDArray[np.float32], word_of_state: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """Mean over the states of each of `count` words: [words, memories]; `best` is [memories, states]."""
    sums = np.zeros((count, len(best)))
    np.add.at(sums, word_of_state, best.T.astype(np.float64))
    means: NDArray[np.float64] = sums / np.bincount(word_of_state, minlength=count)[:, None]
    return means
