"""Markdown of one table, one name, one number; `markdown` and `summary` put them together.

Every string that is not ours goes through `escaped`: it can break neither a table nor a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from helix_lab.report.figures import Figures, Report, figure, interval, part, profiles_of, sets_of

MISSING: Final = "-"
"""Mark of a figure that was not measured."""

_MARKUP: Final = re.compile(r"[\\`*{}\[\]<>#!|&~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def escaped(name: object) -> str:
    """A foreign string as plain Markdown text on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    return _MARKUP.sub(lambda mark: "\\" + mark[0], line) or "(no name)"


def bold(cell: str) -> str:
    """`cell` in bold."""
    return f"**{cell}**"


def shown(value: float | None, form: str = ".1f") -> str:
    """A number in `form`, or the mark of what is missing."""
    return MISSING if value is None else format(value, form)


def whole(value: float | None) -> str:
    """A count."""
    return shown(value, ",.0f")


def with_interval(figures: Figures, metric: str) -> str:
    """A metric as `76.7 [74.5, 78.9]`."""
    value, bounds = figure(figures, metric), interval(figures, metric)
    if value is None or bounds is None:
        return shown(value)
    return f"{value:.1f} [{bounds[0]:.1f}, {bounds[1]:.1f}]"


def quantiles(figures: Figures, *path: str) -> str:
    """Milliseconds as `p50 / p95 / p99`."""
    cells = [shown(figure(figures, *path, q), ".2f") for q in ("p50", "p95", "p99")]
    return MISSING if set(cells) == {MISSING} else " / ".join(cells)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1) -> str:
    """A Markdown table; the first `names` columns are text, the others numbers. Empty without rows."""
    if not rows:
        return ""
    rule = [":---" if column < names else "---:" for column in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def cell_of(*path: str, form: str = ".1f") -> Callable[[Figures], str]:
    """What shows the number at `path` of some figures."""
    return lambda figures: shown(figure(figures, *path), form)


def count_of(*path: str) -> Callable[[Figures], str]:
    """What shows the count at `path` of some figures."""
    return cell_of(*path, form=",.0f")


def grid(report: Report, row: Callable[[Mapping[str, Figures]], Mapping[str, str]]) -> str:
    """Sets by profiles. `row` gives the cells of one set by profile; a set without any is left out."""
    profiles = profiles_of(report)
    rows = []
    for name, figures in sets_of(report).items():
        cells = row(figures)
        if any(cell != MISSING for cell in cells.values()):
            rows.append([escaped(name), *(cells.get(profile, MISSING) for profile in profiles)])
    return table(["set", *map(escaped, profiles)], rows)


def listing(report: Report, columns: Mapping[str, Callable[[Figures], str]]) -> str:
    """One line per set and profile; lines and columns without any figure are left out."""
    lines = [
        ([escaped(name), escaped(profile)], {title: cell(figures) for title, cell in columns.items()})
        for name, profiles in sets_of(report).items()
        for profile, figures in profiles.items()
    ]
    kept = [title for title in columns if any(cells[title] != MISSING for _, cells in lines)]
    rows = [
        names + [cells[title] for title in kept]
        for names, cells in lines
        if any(cells[title] != MISSING for title in kept)
    ]
    return table(["set", "profile", *map(escaped, kept)], rows, names=2)


def difference(figures: Figures, metric: str, *, chance: bool = True) -> str:
    """A paired difference as `+3.2 [+1.1, +5.3], p 0.0040`; without the p value if `chance` is off."""
    compared = part(figures, "against", metric)
    value, low, high = (figure(compared, name) for name in ("difference", "low", "high"))
    if value is None:
        return MISSING
    cell = f"{value:+.1f}" if low is None or high is None else f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"
    p = figure(compared, "p")
    return f"{cell}, p {p:.4f}" if chance and p is not None else cell


def certain(figures: Figures, metric: str) -> bool:
    """Whether the interval of the paired difference excludes 0."""
    low, high = (figure(part(figures, "against", metric), name) for name in ("low", "high"))
    return low is not None and high is not None and (low > 0 or high < 0)
