"""The report of a search: JSON with everything, Markdown a person can read, the heading of the profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from helix_lab.ablation.contributions import points
from helix_lab.report.tables import bold, escaped, table
from helix_lab.sets.data import EvaluationSet
from helix_lab.tuning.nested import Judged, Outcome, held_out, held_out_overall
from helix_lab.tuning.search import Found, Plan
from helix_query.profile.overrides import constant
from helix_query.profile.profile import RankingProfile

Report = Mapping[str, Any]

READING: Final = """\
Held out is what counts: constants were searched on the other folds, then asked these questions for the
first time; every question was held out once. Gain is tuned minus start in percentage points with its 95 %
bootstrap interval; p is two-sided (random sign flips). The searched figure is what the search itself saw:
its gain over the start's, less the held-out gain, is how much it flattered itself. The written constants
come from a last search on all questions, so they have no held-out score of their own. ms is the mean time
of the stages from fusion on: the search does not see it."""


def tuning_report(
    outcome: Outcome, sets: Sequence[EvaluationSet], start: RankingProfile, plan: Plan, *, name: str
) -> dict[str, Any]:
    """All figures: percent and percentage points with two decimals, p with four."""
    objective = plan.objective
    gain, low, high = held_out_overall(outcome.folds, objective)
    return {
        "profile": name,
        "start": start.name,
        "constants": dict(outcome.final.constants),
        "searched": _searched(outcome.final),
        "held_out": {
            "sets": {one.name: _set(one.name, outcome, plan) for one in sets},
            "overall": {"gain": points(gain), "low": points(low), "high": points(high)},
        },
        "folds": [_fold(fold, plan) for fold in outcome.folds],
        "plan": {
            "space": [knob.key for knob in plan.space],
            "trials": plan.trials,
            "inner_folds": plan.inner,
            "outer_folds": len(outcome.folds),
            "seed": plan.seed,
            "penalty": objective.penalty,
            "questions": {one.name: len(one.questions) for one in sets},
        },
        "before": {key: constant(start, key) for key in outcome.final.constants},
    }


def _searched(found: Found) -> dict[str, Any]:
    return {"start": points(found.start_value), "tuned": points(found.value), "pruned": found.pruned}


def _set(name: str, outcome: Outcome, plan: Plan) -> dict[str, Any]:
    gain = held_out(outcome.folds, plan.objective)[name]
    tuned = {q: row for fold in outcome.folds for q, row in fold.tuned[name].items()}
    start = {q: row for fold in outcome.folds for q, row in fold.start[name].items()}
    return {
        "metric": plan.objective.metric_of(name),
        "queries": len(tuned),
        "start": points(plan.objective.mean(name, start)),
        "tuned": points(plan.objective.mean(name, tuned)),
        "gain": points(gain.difference),
        "low": points(gain.low),
        "high": points(gain.high),
        "p": round(gain.p, 4),
    }


def _fold(fold: Judged, plan: Plan) -> dict[str, Any]:
    gain, low, high = held_out_overall([fold], plan.objective)
    return {
        "constants": dict(fold.found.constants),
        "searched": _searched(fold.found),
        "held_out": {"gain": points(gain), "low": points(low), "high": points(high)},
        "ms": {"start": round(fold.start_ms, 2), "tuned": round(fold.tuned_ms, 2)},
    }


def tuning_markdown(report: Report) -> str:
    """A page: what the search brings, what it changed, how steady it is."""
    name, start = escaped(report["profile"]), escaped(report["start"])
    blocks = [
        f"# {name}: {start} tuned on {len(report['held_out']['sets'])} sets",
        verdict(report),
        READING,
        "## Held out",
        _held_out_table(report),
        "## Constants",
        _constants_table(report) or "Nothing beat the start: no constant was changed.",
        "## Folds",
        _folds_table(report),
        "## How it was searched",
        table(["", ""], [[escaped(key), escaped(value)] for key, value in _facts(report)], names=2),
    ]
    return "\n\n".join(blocks) + "\n"


def verdict(report: Report) -> str:
    """One sentence: does the search gain anything?"""
    overall = report["held_out"]["overall"]
    figure = f"{overall['gain']:+.2f} points [{overall['low']:+.2f}, {overall['high']:+.2f}]"
    if overall["low"] > 0:
        return f"Held out, the search gains {figure} over {report['start']}."
    if overall["high"] < 0:
        return f"Held out, the search loses against {report['start']}: {figure}. Do not use this profile."
    return f"Held out, no certain gain over {report['start']}: {figure}."


def _held_out_table(report: Report) -> str:
    rows = []
    for name, row in report["held_out"]["sets"].items():
        cells = [
            escaped(name),
            row["metric"],
            str(row["queries"]),
            f"{row['start']:.1f}",
            f"{row['tuned']:.1f}",
        ]
        rows.append([*cells, _gain(row), f"{row['p']:.4f}"])
    rows.append([bold("mean of sets"), "", "", "", "", _gain(report["held_out"]["overall"]), ""])
    return table(["set", "metric", "questions", "start", "tuned", "gain", "p"], rows, names=2)


def _constants_table(report: Report) -> str:
    searched = [fold["constants"] for fold in report["folds"]]
    rows = [
        [
            f"`{key}`",
            _value(report["before"][key]),
            bold(_value(value)),
            ", ".join(_value(constants[key]) if key in constants else "as start" for constants in searched),
        ]
        for key, value in report["constants"].items()
    ]
    return table(["constant", "start", "tuned", "found in the folds"], rows)


def _folds_table(report: Report) -> str:
    rows = []
    for number, fold in enumerate([*report["folds"], report], 1):
        last = fold is report
        searched = fold["searched"]
        gained = searched["tuned"] - searched["start"]
        cells = [f"{searched['start']:.2f}", f"{searched['tuned']:.2f}", f"{gained:+.2f}"]
        ends = (
            ["", ""] if last else [_gain(fold["held_out"]), "{start:.2f} / {tuned:.2f}".format(**fold["ms"])]
        )
        rows.append(["all" if last else str(number), *cells, *ends])
    head = ["fold", "start, searched", "tuned, searched", "gain, searched", "gain, held out"]
    return table([*head, "ms, start / tuned"], rows)


def _gain(row: Report) -> str:
    cell = f"{row['gain']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
    return bold(cell) if row["low"] > 0 or row["high"] < 0 else cell


def _value(value: Any) -> str:
    return format(value, ".4g") if isinstance(value, float) else escaped(value)


def _facts(report: Report) -> list[tuple[str, str]]:
    return [(key, _fact(value)) for key, value in {**report["plan"], **report.get("meta", {})}.items()]


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def profile_heading(report: Report) -> list[str]:
    """Comment lines that say how the constants were found."""
    plan, sets, start = report["plan"], report["held_out"]["sets"], report["start"]
    metrics = ", ".join(f"{name} ({row['metric']}, {row['queries']} questions)" for name, row in sets.items())
    folds = f"{plan['inner_folds']} inner and {plan['outer_folds']} outer folds, penalty {plan['penalty']}"
    changed = len(report["constants"])
    return [
        f"Tuned from {start} by helix-lab tune: {plan['trials']} trials, seed {plan['seed']}, {folds}.",
        f"Sets: {metrics}.",
        verdict(report),
        f"Constants that differ from {start}: {changed}."
        if changed
        else f"Nothing beat {start}: same constants.",
    ]
