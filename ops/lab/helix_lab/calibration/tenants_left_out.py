"""Judges a set by models that saw its other tenants, but never the one asked.

For sets with questions of their own that have no answer, from several tenants. `assessment` leaves the whole
set out, which asks more: that no set of the fit is like it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from helix_lab.calibration.assessment import auroc
from helix_lab.calibration.models import fitted
from helix_lab.calibration.observations import Observation
from helix_lab.calibration.small_stores import SUFFIX

FEWEST_UNANSWERABLE: Final = 10
"""Questions without an answer that a set needs."""
Z: Final = 1.96


def tenants_left_out(
    observations: Sequence[Observation], *, of_memories: Sequence[str], of_answers: Sequence[str]
) -> dict[str, dict[str, float]]:
    """By set: AUROC between questions answered right and its own without an answer, with a 95 % interval."""
    found = {}
    for name in dict.fromkeys(one.set_name for one in observations):
        here = [one for one in observations if one.set_name == name]
        own = [one for one in here if one.kind == "unanswerable"]
        tenants = {one.tenant for one in own}
        if len(own) < FEWEST_UNANSWERABLE or len(tenants) < 2 or name.endswith(SUFFIX):  # noqa: PLR2004 - one to leave out, one to fit
            continue
        likely: dict[int, float] = {}
        for tenant in sorted({one.tenant for one in here}):
            rest = [one for one in observations if not _is_of(one, name, tenant)]
            asked = [one for one in here if one.tenant == tenant]
            models = fitted(rest, of_memories=of_memories, of_answers=of_answers)
            likely |= dict(zip(map(id, asked), models.answers(asked).tolist(), strict=True))
        good = np.array([likely[id(one)] for one in here if one.kind == "answerable"])
        area = auroc(good, np.array([likely[id(one)] for one in own])) or 0.0
        low, high = interval(area, len(good), len(own))
        found[name] = {"questions": float(len(own)), "auroc": area, "low": low, "high": high}
    return found


def interval(area: float, positive: int, negative: int) -> tuple[float, float]:
    """95 % interval of an AUROC (Hanley and McNeil 1982)."""
    first, second = area / (2 - area), 2 * area * area / (1 + area)
    variance = (
        area * (1 - area) + (positive - 1) * (first - area * area) + (negative - 1) * (second - area * area)
    )
    half = Z * math.sqrt(variance / (positive * negative))
    return max(0.0, area - half), min(1.0, area + half)


def _is_of(one: Observation, name: str, tenant: str) -> bool:
    """Whether it is asked of the tenant, or of a small store that was cut from it."""
    cut = one.set_name == name + SUFFIX and one.tenant.startswith(f"{tenant}/")
    return cut or (one.set_name == name and one.tenant == tenant)
