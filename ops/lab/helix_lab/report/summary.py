"""States in words what the figures show: who is best where, what is certain, what it costs in time.

Computed from the report alone; a difference counts when the interval of the paired difference excludes 0.
`markdown` puts it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sized
from typing import Final

from helix_lab.report.figures import (
    Figures,
    Report,
    all_figures,
    best_of,
    figure,
    headline_of,
    mean_over,
    part,
    profiles_of,
    questions_of,
    sets_of,
    shared_sets,
)
from helix_lab.report.tables import (
    MISSING,
    bold,
    certain,
    difference,
    escaped,
    shown,
    table,
    whole,
    with_interval,
)

FEW: Final = 30
"""Below this many questions an interval is too wide to tell profiles apart."""


def summary(report: Report) -> list[str]:
    """Blocks of Markdown: size of the run, findings, best profile of each set."""
    findings = [
        *_best(report),
        *_certain(report),
        *_lowest_stale(report),
        *_times(report),
        *_few(report),
    ]
    return [_size(report), "\n".join(findings), _best_table(report)]


def _size(report: Report) -> str:
    sets, profiles = sets_of(report), profiles_of(report)
    questions = sum(questions_of(found) or 0 for found in sets.values())
    names = ", ".join(map(escaped, profiles)) or "none"
    counts = f"{_count(sets, 'set')}, {_count(profiles, 'profile')} ({names})"
    return f"{counts}, {whole(questions)} answerable questions."


def _count(things: Sized, noun: str) -> str:
    return f"{len(things)} {noun}" + ("" if len(things) == 1 else "s")


def _best(report: Report) -> Iterator[str]:
    """The profile with the highest value on how many sets, and the mean over the sets all profiles share."""
    for metric in headline_of(report):
        words = [*_wins(report, metric), *_means(report, metric)]
        yield f"- {bold(escaped(metric))}: {'; '.join(words)}."


def _wins(report: Report, metric: str) -> Iterator[str]:
    sets = sets_of(report)
    wins = Counter(name for found in sets.values() for name in best_of(found, metric)).most_common()
    if len(sets) > 1 and len(profiles_of(report)) > 1:
        (first, count), *others = wins
        rest = "".join(f", {escaped(name)} on {also}" for name, also in others)
        yield f"highest is {escaped(first)} on {count} of {len(sets)} sets{rest}"


def _means(report: Report, metric: str) -> Iterator[str]:
    shared = shared_sets(report, (metric,))
    if shared:
        means = {name: mean_over(report, shared, name, metric) for name in profiles_of(report)}
        ranked = sorted(means, key=lambda name: -means[name])
        where = f"mean over {len(shared)} sets " if len(shared) > 1 else ""
        yield where + ", ".join(f"{escaped(name)} {means[name]:.1f}" for name in ranked)
    else:
        yield "no set that all profiles answered"


def _certain(report: Report) -> Iterator[str]:
    """Each profile against the first of the run, by the first headline metric."""
    metrics = [name for name in headline_of(report) if _compared(report, name)]
    for (profile, first), verdicts in _verdicts(report, metrics[0]).items() if metrics else ():
        yield f"- {bold(escaped(profile))} against {escaped(first)}, {metrics[0]}:"
        for words in ("better on", "worse on"):
            if verdicts[words]:
                yield f"    - {words} {len(verdicts[words])}: {', '.join(verdicts[words])}"
        if undecided := verdicts["undecided"]:
            yield f"    - no certain difference on {len(undecided)}: {', '.join(undecided)}"
    if metrics:
        pairs = sum(_has(figures, metrics[0]) for figures in all_figures(report))
        yield (
            "- A difference counts as certain when the 95 % interval of the paired difference excludes 0. "
            f"By chance alone about one comparison in 20 does; {metrics[0]} has {pairs} here."
        )


def _verdicts(report: Report, metric: str) -> dict[tuple[str, str], dict[str, list[str]]]:
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for name, profiles in sets_of(report).items():
        for profile, figures in profiles.items():
            if not _has(figures, metric):
                continue
            pair = profile, str(part(figures, "against").get("profile", "the first profile"))
            verdicts = found.setdefault(pair, {"better on": [], "worse on": [], "undecided": []})
            if certain(figures, metric):
                better = (figure(figures, "against", metric, "difference") or 0) > 0
                cell = difference(figures, metric, chance=False)
                verdicts["better on" if better else "worse on"].append(f"{escaped(name)} {cell}")
            else:
                verdicts["undecided"].append(escaped(name))
    return found


def _compared(report: Report, metric: str) -> bool:
    return any(_has(figures, metric) for figures in all_figures(report))


def _has(figures: Figures, metric: str) -> bool:
    return figure(figures, "against", metric, "difference") is not None


def _lowest_stale(report: Report) -> Iterator[str]:
    if len(profiles_of(report)) < 2:  # noqa: PLR2004 - with one there is nothing to choose
        return
    for name, profiles in sets_of(report).items():
        if lowest := best_of(profiles, "Stale@1", lowest=True):
            value = figure(profiles[lowest[0]], "Stale@1")
            who = ", ".join(map(escaped, lowest))
            yield f"- Superseded statements lead least often on {escaped(name)}: {who} ({shown(value)} %)."


def _times(report: Report) -> Iterator[str]:
    sets = sets_of(report)
    lines = []
    for profile in profiles_of(report):
        times = {name: part(found, profile, "recall_ms") for name, found in sets.items()}
        middle = [p50 for time in times.values() if (p50 := figure(time, "p50")) is not None]
        slow = {name: p95 for name, time in times.items() if (p95 := figure(time, "p95")) is not None}
        if middle and slow:
            worst = max(slow, key=slow.__getitem__)
            between = f"{min(middle):.1f}" + (f" to {max(middle):.1f}" if len(middle) > 1 else "")
            where = f" on {escaped(worst)}" if len(sets) > 1 else ""
            lines.append(
                f"    - {escaped(profile)}: p50 {between} ms, p95 at most {slow[worst]:.1f} ms{where}"
            )
    if lines:
        yield "- Time of a recall:"
        yield from lines


def _few(report: Report) -> Iterator[str]:
    sizes = {name: questions_of(profiles) for name, profiles in sets_of(report).items()}
    few = [
        f"{escaped(name)} ({whole(size)})" for name, size in sizes.items() if size is not None and size < FEW
    ]
    if few:
        yield f"- Too few questions to tell profiles apart (under {FEW}): {', '.join(few)}."


def _best_table(report: Report) -> str:
    metrics = headline_of(report)
    if len(profiles_of(report)) == 1:
        return _single_table(report, metrics)
    rows = []
    for name, profiles in sets_of(report).items():
        cells = [_winner(profiles, metric) for metric in metrics]
        rows.append([escaped(name), whole(questions_of(profiles)), *cells])
    return table(["set", "questions", *(f"highest {metric}" for metric in metrics)], rows)


def _single_table(report: Report, metrics: list[str]) -> str:
    rows = [
        [escaped(name), whole(questions_of(profiles)), *(with_interval(figures, m) for m in metrics)]
        for name, profiles in sets_of(report).items()
        for figures in profiles.values()
    ]
    return table(["set", "questions", *metrics], rows)


def _winner(profiles: dict[str, Figures], metric: str) -> str:
    best = best_of(profiles, metric)
    names = ", ".join(map(escaped, best))
    return f"{names} {with_interval(profiles[best[0]], metric)}" if best else MISSING
