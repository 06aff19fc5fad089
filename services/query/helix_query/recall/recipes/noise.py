"""Stage 6, noise of the recipe `engram`: Gaussian, repeatable, off unless a profile asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFTS: Final = (np.uint64(30), np.uint64(27), np.uint64(31))
_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def noise(ordinals: NDArray[np.int64], *, seed: int, sigma: float) -> NDArray[np.float64]:
    """Gaussian noise with deviation `sigma` for each memory, the same for the same `seed` and ordinal.

    Hashed instead of drawn, so that the noise of a memory does not depend on the other candidates.
    """
    words = np.stack([2 * ordinals, 2 * ordinals + 1]).astype(np.uint64)
    first, second = _uniform(words, np.uint64(seed & 0xFFFFFFFFFFFFFFFF))
    # Box and Muller 1958; 1 - u is never 0, so the logarithm is finite
    gaussian = np.sqrt(-2.0 * np.log(1.0 - first)) * np.cos(2.0 * np.pi * second)
    scaled: NDArray[np.float64] = sigma * gaussian
    return scaled


def _uniform(words: NDArray[np.uint64], seed: np.uint64) -> NDArray[np.float64]:
    """Numbers in [0, 1) by hash (splitmix64, Steele, Lea, Flood 2014)."""
    # 64-bit products are meant to wrap around
    with np.errstate(over="ignore"):
        mixed = seed + (words + np.uint64(1)) * _GOLDEN
        for shift, factor in zip(_SHIFTS[:2], _MIX, strict=True):
            mixed = (mixed ^ (mixed >> shift)) * factor
    mixed ^= mixed >> _SHIFTS[2]
    uniform: NDArray[np.float64] = (mixed >> np.uint64(11)).astype(np.float64) / 2**53
    return uniform
