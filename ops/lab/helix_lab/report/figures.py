"""Reads the figures of a report: missing or null is None here, never an error.

`metrics` and the commands make the report; tables, summary and charts read it through here, so that only this
module knows its form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any, Final

Report = Mapping[str, Any]
Figures = Mapping[str, Any]
"""All figures of one profile on one set, or a part of them."""

HEADLINE: Final = ("R@10", "nDCG@10", "MRR@10")
ORDER: Final = (
    *("R@1", "R@5", "R@10", "Hit@1", "Hit@5", "Hit@10", "All@5", "All@10", "MRR@10", "nDCG@10"),
    *("Stale@1", "Stale@5"),
)
STALE: Final = "Stale@"
EVIDENCE: Final = ("Evidence@", "AllEvidence@")


def finite(value: Any) -> Any:
    """The same report with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: Any) -> float | None:
    """`value` if it is a number, else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def part(figures: Any, *path: str) -> Figures:
    """The object at `path`; empty if a part of the path is missing or null."""
    for name in path:
        figures = figures.get(name) if isinstance(figures, Mapping) else None
    return figures if isinstance(figures, Mapping) else {}


def figure(figures: Figures, *path: str) -> float | None:
    """The number at `path`, or None."""
    return number(part(figures, *path[:-1]).get(path[-1]))


def interval(figures: Figures, metric: str) -> tuple[float, float] | None:
    """The 95 % interval of `metric`, low and high."""
    bounds = part(figures, "intervals").get(metric)
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:  # noqa: PLR2004 - low and high
        return None
    low, high = number(bounds[0]), number(bounds[1])
    return None if low is None or high is None else (low, high)


def sets_of(report: Report) -> dict[str, dict[str, Figures]]:
    """Figures by set and profile, in the order of the report."""
    sets = part(report, "sets")
    return {name: {profile: part(sets, name, profile) for profile in part(sets, name)} for name in sets}


def profiles_of(report: Report) -> list[str]:
    """Every profile once, in the order of first appearance."""
    return _distinct(name for profiles in sets_of(report).values() for name in profiles)


def all_figures(report: Report) -> list[Figures]:
    """Figures of every pair of set and profile."""
    return [figures for profiles in sets_of(report).values() for figures in profiles.values()]


def metrics_of(groups: Iterable[Figures]) -> list[str]:
    """Names of the ranking metrics (`...@k`) that have a number anywhere, in reading order."""
    names = _distinct(
        name for figures in groups for name in figures if "@" in name and figure(figures, name) is not None
    )
    return [name for name in ORDER if name in names] + [name for name in names if name not in ORDER]


def headline_of(report: Report) -> list[str]:
    """The few metrics a reader looks at first; what the report has instead if it has none of them."""
    names = [name for name in metrics_of(all_figures(report)) if not name.startswith((STALE, *EVIDENCE))]
    return [name for name in HEADLINE if name in names] or names[: len(HEADLINE)]


def stages_of(groups: Iterable[Figures]) -> list[str]:
    """Names of the stages in the order they ran."""
    return _distinct(name for figures in groups for name in part(figures, "stages_ms"))


def best_of(profiles: Mapping[str, Figures], metric: str, *, lowest: bool = False) -> list[str]:
    """The profiles with the best value of `metric` on one set; several when they tie."""
    known = {name: value for name in profiles if (value := figure(profiles[name], metric)) is not None}
    best = (min if lowest else max)(known.values(), default=None)
    return [name for name, value in known.items() if value == best]


def questions_of(profiles: Mapping[str, Figures]) -> float | None:
    """Answerable questions of a set; all profiles get the same."""
    return next((n for figures in profiles.values() if (n := figure(figures, "queries")) is not None), None)


def shared_sets(report: Report, *paths: tuple[str, ...]) -> list[str]:
    """Sets on which every profile of the report has a number at `paths`: only there a mean compares."""
    names = profiles_of(report)
    sets = sets_of(report)
    return [
        name
        for name, found in sets.items()
        if all(figure(part(found, profile), *path) is not None for profile in names for path in paths)
    ]


def mean_over(report: Report, sets: Iterable[str], profile: str, *path: str) -> float:
    """Unweighted mean of one figure over sets that all have it."""
    known = sets_of(report)
    return fmean(figure(known[name][profile], *path) or 0.0 for name in sets)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
