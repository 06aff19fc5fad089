"""The report in Markdown: summary first, then the figures as tables, how to read them, how it was run.

`summary` words the findings, `detail` has the long tables, `tables` the cells; `page` renders the
same text. Sections named in `FOLDED` are detail that a page shows closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from helix_lab.report.detail import by_category, by_stage, measured, other_figures
from helix_lab.report.explain import explanations
from helix_lab.report.figures import (
    EVIDENCE,
    STALE,
    Figures,
    Report,
    all_figures,
    best_of,
    figure,
    headline_of,
    metrics_of,
    part,
)
from helix_lab.report.summary import summary
from helix_lab.report.tables import (
    bold,
    cell_of,
    certain,
    count_of,
    difference,
    escaped,
    grid,
    listing,
    quantiles,
    table,
    whole,
    with_interval,
)

MAIN: Final = ("R@5", "R@10", "Hit@10", "All@10", "MRR@10", "nDCG@10")
FOLDED: Final = ("More metrics", "By category", "Stage times", "Other figures")


def report_markdown(report: Report, *, charts: Mapping[str, str]) -> str:
    """The whole report; `charts` gives the link of each drawn chart by its file name."""
    main = [name for name in MAIN if name in metrics_of(all_figures(report))] or headline_of(report)
    sections: dict[str, Sequence[str]] = {
        "Summary": summary(report),
        "Quality": _quality(report, main, charts),
        "Differences from the first profile": _differences(report, headline_of(report)),
        "Superseded statements": _stale(report),
        "Sessions": [_sessions(report)],
        "Abstention": _abstention(report),
        "Packed context": _packed(report),
        "Graph linkage": [_linkage(report)],
        "Latency": _latency(report, charts),
        "More metrics": _more(report, main),
        "By category": by_category(report),
        "Stage times": by_stage(report),
        "Other figures": [other_figures(report)],
        "How to read the figures": ["\n".join(explanations(report))],
        "How this was measured": [measured(report)],
    }
    blocks = ["# Evaluation report"]
    for title, content in sections.items():
        kept = [block for block in content if block]
        blocks += [f"## {title}", *kept] if kept else []
    return "\n\n".join(blocks) + "\n"


def _chart(charts: Mapping[str, str], name: str, words: str) -> str:
    return f"![{words}]({charts[name]})" if name in charts else ""


def _titled(names: Sequence[str], content: Callable[[str], str], *, suffix: str = "") -> Iterator[str]:
    for name in names:
        if block := content(name):
            yield f"### {escaped(name)}{suffix}"
            yield block


def _quality(report: Report, main: Sequence[str], charts: Mapping[str, str]) -> list[str]:
    words = f"Quality of each profile on each set: {', '.join(map(escaped, headline_of(report)))}"
    return [
        _chart(charts, "quality.png", words),
        "Percent, with the 95 % interval where there is one; the highest of a set is bold." if main else "",
        *_titled(main, partial(_metric, report)),
    ]


def _metric(report: Report, metric: str) -> str:
    def row(profiles: Mapping[str, Figures]) -> dict[str, str]:
        best = best_of(profiles, metric, lowest=metric.startswith(STALE)) if len(profiles) > 1 else []
        cells = {name: with_interval(figures, metric) for name, figures in profiles.items()}
        return {name: bold(cell) if name in best else cell for name, cell in cells.items()}

    return grid(report, row)


def _differences(report: Report, metrics: Sequence[str]) -> list[str]:
    blocks = list(_titled(metrics, partial(_compared, report)))
    named = (part(figures, "against").get("profile") for figures in all_figures(report))
    firsts = ", ".join(dict.fromkeys(escaped(name) for name in named if name is not None))
    note = (
        f"Percentage points above {firsts or 'the first profile'} on the same questions, with the 95 % "
        "interval of the paired difference and p of a paired permutation test; bold where the interval "
        "excludes 0."
    )
    return [note, *blocks] if blocks else []


def _compared(report: Report, metric: str) -> str:
    def cell(figures: Figures) -> str:
        worded = difference(figures, metric)
        return bold(worded) if certain(figures, metric) else worded

    return grid(report, lambda profiles: {name: cell(figures) for name, figures in profiles.items()})


def _stale(report: Report) -> list[str]:
    names = [name for name in metrics_of(all_figures(report)) if name.startswith(STALE)]
    blocks = list(_titled(names, partial(_metric, report)))
    note = "Percent of questions answered from a superseded statement: lower is better, the lowest is bold."
    return [note, *blocks] if blocks else []


def _sessions(report: Report) -> str:
    groups = [part(figures, "sessions") for figures in all_figures(report)]
    columns: dict[str, Callable[[Figures], str]] = {"questions": count_of("sessions", "queries")}
    columns |= {name: partial(_session, metric=name) for name in metrics_of(groups)}
    return listing(report, columns)


def _session(figures: Figures, *, metric: str) -> str:
    return with_interval(part(figures, "sessions"), metric)


def _abstention(report: Report) -> list[str]:
    columns = {
        "unanswerable questions": count_of("abstention", "questions"),
        "AUROC": cell_of("abstention", "AUROC", form=".3f"),
        "false answers, %": cell_of("abstention", "false_answer_rate"),
        "false abstentions, %": cell_of("abstention", "false_abstention_rate"),
    }
    skipped = count_of("skipped")
    told = any(figure(figures, "skipped") for figures in all_figures(report))
    return [
        listing(report, columns),
        "Answerable questions the router skipped:" if told else "",
        grid(report, lambda row: {name: skipped(row[name]) for name in row}) if told else "",
    ]


def _packed(report: Report) -> list[str]:
    columns = {
        "tokens, mean": cell_of("packed", "tokens", form=",.1f"),
        "evidence inside, %": cell_of("packed", "evidence"),
    }
    names = [name for name in metrics_of(all_figures(report)) if name.startswith(EVIDENCE)]
    return [listing(report, columns), *_titled(names, partial(_metric, report))]


def _linkage(report: Report) -> str:
    """A line for each set and length of path: gold pairs, random pairs, and the difference."""
    found = part(report, "linkage")
    rows = [
        [
            escaped(name),
            length,
            *(whole(figure(found, name, count)) for count in ("questions", "pairs")),
            *(with_interval(part(found, name, kind), length) for kind in ("gold", "random")),
            difference(part(found, name), length),
        ]
        for name in found
        for length in part(found, name, "against")
    ]
    head = ["set", "path", "questions", "pairs", "gold pairs, %", "random pairs, %", "difference"]
    return table(head, rows, names=2)


def _latency(report: Report, charts: Mapping[str, str]) -> list[str]:
    times = grid(report, lambda row: {name: quantiles(figures, "recall_ms") for name, figures in row.items()})
    return [
        _chart(charts, "latency.png", "Recall p50 against quality, one marker per profile, p95 as whisker"),
        "Milliseconds of a recall, p50 / p95 / p99." if times else "",
        times,
        _chart(charts, "stages.png", "p50 of each stage on each set"),
    ]


def _more(report: Report, main: Sequence[str]) -> list[str]:
    names = metrics_of(all_figures(report))
    rest = [name for name in names if name not in main and not name.startswith((STALE, *EVIDENCE))]
    compared = [name for name in names if name not in headline_of(report)]
    return [
        *_titled(rest, partial(_metric, report)),
        *_titled(compared, partial(_compared, report), suffix=", difference from the first profile"),
    ]
