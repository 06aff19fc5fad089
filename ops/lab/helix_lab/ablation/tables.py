"""The report of an ablation: JSON with everything, Markdown a person can read, a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.table import Table

from helix_lab.ablation.contributions import HEADLINE, Ablated, overall, points
from helix_lab.ablation.switches import Switch
from helix_lab.measures.metrics import mean
from helix_lab.report.tables import MISSING, bold, escaped, table
from helix_query.profile.profile import RankingProfile

Entry = Mapping[str, Any]

READING: Final = """\
Worth is the score of the whole profile minus the score without the part, in percentage points with its
95 % bootstrap interval over questions: positive means that the part helps (for Stale@1, where less is
better, the sign is turned). Bold: the interval excludes 0; of many rows about one in twenty does so by
chance. A part is measured beside all others, so two that do the same work are each worth little, and the
worths do not add up. ms is what a recall takes with the part minus without it, the embedding of the query
left out: mean over questions, each the best of three, with its interval."""


def ablation_report(profile: RankingProfile, switches: Sequence[Switch], sets: Sequence[Ablated]) -> Entry:
    """All figures; a part that is off already has no more than its kind."""
    return {
        "profile": profile.name,
        "sets": {one.name: _set(profile, switches, one) for one in sets},
        "overall": _entries(profile, switches, overall(sets)),
        "whole": {
            one.name: {"queries": len(one.whole)}
            | {name: points(value) for name, value in mean(one.whole).items() if name in HEADLINE}
            for one in sets
        },
    }


def _set(profile: RankingProfile, switches: Sequence[Switch], one: Ablated) -> Entry:
    rows: dict[str, dict[str, Any]] = {}
    for part, worths in one.worths.items():
        rows[part] = {
            metric: {
                "worth": points(worth.difference),
                "low": points(worth.low),
                "high": points(worth.high),
                "p": round(worth.p, 4),
            }
            for metric, worth in worths.items()
        }
        if part in one.costs:
            spent = one.costs[part]
            rows[part]["ms"] = round(spent.milliseconds, 3)
            rows[part]["ms_interval"] = [round(spent.low, 3), round(spent.high, 3)]
    return _entries(profile, switches, rows)


def _entries(profile: RankingProfile, switches: Sequence[Switch], rows: Mapping[str, Entry]) -> Entry:
    return {
        switch.name: {
            "kind": switch.kind,
            "changed": switch.without(profile) != profile,
            **rows.get(switch.name, {}),
        }
        for switch in switches
    }


def ablation_markdown(report: Entry) -> str:
    """A page: all sets together first, then every set."""
    blocks = [f"# What each part of {escaped(report['profile'])} is worth", READING]
    for heading, entries in _sections(report):
        blocks += [f"## {escaped(heading)}", _markdown_table(entries)]
        off = [escaped(name) for name, entry in entries.items() if not entry["changed"]]
        if off:
            blocks.append(f"Off already in this profile: {', '.join(off)}.")
    meta = [[escaped(name), escaped(_fact(value))] for name, value in report.get("meta", {}).items()]
    if meta:
        blocks += ["## How it was measured", table(["", ""], meta, names=2)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _fact(value: Any) -> str:
    is_mapping = isinstance(value, Mapping)
    return ", ".join(f"{name} {item}" for name, item in value.items()) if is_mapping else str(value)


def _sections(report: Entry) -> Iterator[tuple[str, Mapping[str, Entry]]]:
    if len(report["sets"]) > 1:
        yield f"Mean of {len(report['sets'])} sets, each counting alike", report["overall"]
    for name, entries in report["sets"].items():
        whole = report["whole"][name]
        figures = ", ".join(f"{metric} {whole[metric]:.1f}" for metric in HEADLINE if metric in whole)
        yield f"{name}: {whole['queries']} questions, whole profile {figures}", entries


def _markdown_table(entries: Mapping[str, Entry]) -> str:
    metrics, timed = _columns(entries)
    rows = []
    for name, entry in entries.items():
        if entry["changed"]:
            cells = [_cell(entry.get(metric)) for metric in metrics]
            rows.append([escaped(name), entry["kind"], *cells, *([_cost(entry)] if timed else [])])
    return table(["without", "kind", *metrics, *(["ms"] if timed else [])], rows, names=2)


def ablation_table(heading: str, entries: Mapping[str, Entry]) -> Table:
    """For the terminal; a star where the interval excludes 0."""
    metrics, timed = _columns(entries)
    shown = Table(title=f"{heading}: worth of each part, percentage points", title_justify="left")
    for title in ("without", "kind"):
        shown.add_column(title)
    for title in (*metrics, *(["ms"] if timed else [])):
        shown.add_column(title, justify="right")
    for name, entry in entries.items():
        if entry["changed"]:
            worths = [_star(entry.get(metric)) for metric in metrics]
            shown.add_row(name, entry["kind"], *worths, *([_cost(entry)] if timed else []))
        else:
            shown.add_row(name, entry["kind"], "off already", style="dim")
    return shown


def _columns(entries: Mapping[str, Entry]) -> tuple[list[str], bool]:
    metrics = [metric for metric in HEADLINE if any(metric in entry for entry in entries.values())]
    return metrics, any("ms" in entry for entry in entries.values())


def _cell(worth: Entry | None) -> str:
    if worth is None or _nothing(worth):
        return MISSING if worth is None else "0"
    cell = f"{worth['worth']:+.2f} [{worth['low']:+.2f}, {worth['high']:+.2f}]"
    return bold(cell) if _certain(worth) else cell


def _star(worth: Entry | None) -> str:
    if worth is None or _nothing(worth):
        return MISSING if worth is None else "0 "
    return f"{worth['worth']:+.2f}{'*' if _certain(worth) else ' '}"


def _nothing(worth: Entry) -> bool:
    """Most cells of a signal; a page of +0.00 [+0.00, +0.00] would hide the others."""
    return not any(worth[name] for name in ("worth", "low", "high"))


def _certain(worth: Entry) -> bool:
    return bool(worth["low"] > 0 or worth["high"] < 0)


def _cost(entry: Entry) -> str:
    if "ms" not in entry:
        return MISSING
    low, high = entry["ms_interval"]
    return f"{entry['ms']:+.2f} [{low:+.2f}, {high:+.2f}]"
