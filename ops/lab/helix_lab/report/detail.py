"""The long tables of a report: categories, stages, other figures, and how it was run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from helix_lab.report.figures import (
    Figures,
    Report,
    all_figures,
    figure,
    metrics_of,
    number,
    part,
    sets_of,
    stages_of,
)
from helix_lab.report.tables import cell_of, escaped, listing, quantiles, shown, table, whole

WORDED: Final = frozenset(
    {"queries", "skipped", "recall_ms", "stages_ms", "intervals", "categories", "sessions"}
    | {"abstention", "packed", "against"}
)
"""Parts of a report with a section of their own."""


def by_category(report: Report) -> list[str]:
    """One table per set that has categories."""
    blocks = []
    for name, profiles in sets_of(report).items():
        if rows := _categories(profiles):
            blocks += [f"### {escaped(name)}", rows]
    return blocks


def _categories(profiles: Mapping[str, Figures]) -> str:
    groups = {name: part(figures, "categories") for name, figures in profiles.items()}
    metrics = metrics_of(part(group, category) for group in groups.values() for category in group)
    categories = dict.fromkeys(category for group in groups.values() for category in group)
    rows = []
    for category in categories:
        for profile, group in groups.items():
            if figures := part(group, category):
                cells = [whole(figure(figures, "queries")), *(shown(figure(figures, m)) for m in metrics)]
                rows.append([escaped(category), escaped(profile), *cells])
    return table(["category", "profile", "questions", *map(escaped, metrics)], rows, names=2)


def by_stage(report: Report) -> list[str]:
    """Quantiles of every stage, set and profile."""
    stages = stages_of(all_figures(report))
    rows = listing(report, {stage: _stage(stage) for stage in stages}) if stages else ""
    return ["Milliseconds, p50 / p95 / p99.", rows] if rows else []


def _stage(stage: str) -> Callable[[Figures], str]:
    return lambda figures: quantiles(figures, "stages_ms", stage)


def other_figures(report: Report) -> str:
    """Numbers of a form this report does not know, by their path."""
    paths = dict.fromkeys(path for figures in all_figures(report) for path in _unknown(figures))
    columns = {".".join(path): cell_of(*path, form=".6g") for path in paths}
    return listing(report, columns) if columns else ""


def _unknown(figures: Figures) -> Iterator[tuple[str, ...]]:
    for name, value in figures.items():
        if name not in WORDED and "@" not in name:
            yield from _numbers(value, (name,))


def _numbers(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if number(value) is not None:
        yield path
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _numbers(item, (*path, name))


def measured(report: Report) -> str:
    """What the report says about its run, one line per key."""
    rows = [[escaped(name), escaped(value)] for name, value in _flat(part(report, "meta"), "")]
    return table(["what", "value"], rows, names=2)


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _flat(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, str):
        yield path, value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield path, ", ".join(value) or "none"
    else:
        yield path, json.dumps(value, ensure_ascii=False)
