"""The weight of each observation: every set counts alike, and easy foreign questions count little.

In each set, the share `ANSWERABLE` of the weight is on questions that have an answer. The rest is on those
that have none, by `SHARES`: the set's own, those for an attribute nobody told, those of the nearest donor,
whose questions are closest to this corpus by cosine (another tenant of the same set, if there is one), and
those of other donors. What a set lacks, the others share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_lab.calibration.observations import Observation

ANSWERABLE: Final = 0.5
"""Share of an agent's questions that memory can answer: assumed, not measured."""
SHARES: Final = (0.35, 0.3, 0.2, 0.15)
"""Of the questions without an answer: own, for an attribute, of the nearest donor, of the others."""
FEW_OF_DONOR: Final = 10
"""A donor with fewer foreign questions is not the nearest, if there are others."""
_HARD: Final = frozenset(["unanswerable", "attribute"])
WHOLE_SET: Final = 100
"""Answerable questions from which on a set has its full weight."""


def nearest_donors(observations: Sequence[Observation]) -> dict[str, str]:
    """By set, the donor whose questions have the nearest best memories by cosine."""
    nearest = {}
    for name in dict.fromkeys(one.set_name for one in observations):
        cosines: dict[str, list[float]] = {}
        for one in observations:
            if one.set_name == name and one.kind == "stranger":
                cosines.setdefault(one.donor, []).append(one.answer["cosine"])
        cosines = {donor: found for donor, found in cosines.items() if len(found) >= FEW_OF_DONOR} or cosines
        if cosines:
            # other tenants of the same set are realistic at every cosine
            nearest[name] = name if name in cosines else max(cosines, key=lambda donor: fmean(cosines[donor]))
    return nearest


def near(observations: Sequence[Observation], nearest: Mapping[str, str]) -> NDArray[np.bool_]:
    """Which have no answer and are hard to tell from those that do."""
    return np.array([one.kind in _HARD or _is_near(one, nearest) for one in observations], bool)


def _is_near(one: Observation, nearest: Mapping[str, str]) -> bool:
    return one.kind == "stranger" and one.donor == nearest[one.set_name]


def weights(observations: Sequence[Observation]) -> NDArray[np.float64]:
    """Weight of each observation; they need not sum to 1."""
    names = np.array([one.set_name for one in observations])
    answerable = np.array([one.kind == "answerable" for one in observations], bool)
    nearest = nearest_donors(observations)
    close = np.array([_is_near(one, nearest) for one in observations], bool)
    kinds = np.array([one.kind for one in observations])
    without = [kinds == "unanswerable", kinds == "attribute", close, (kinds == "stranger") & ~close]
    weighed = np.zeros(len(observations))
    for name in np.unique(names):
        here = names == name
        whole = min(1.0, int((here & answerable).sum()) / WHOLE_SET)
        groups = [(here & group, share) for group, share in zip(without, SHARES, strict=True)]
        total = sum(share for group, share in groups if group.any()) or 1.0
        for group, share in [
            (here & answerable, ANSWERABLE),
            *((group, (1 - ANSWERABLE) * share / total) for group, share in groups),
        ]:
            weighed[group] = whole * share / max(int(group.sum()), 1)
    return weighed
