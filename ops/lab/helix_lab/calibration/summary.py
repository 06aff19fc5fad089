"""The figures of a calibration as tables, and as the comment above the part that is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from helix_lab.calibration.assessment import LEADING
from helix_lab.calibration.sample_weights import ANSWERABLE

RATES: Final = ("false_abstention", "false_answer_own", "false_answer_near", "false_answer_far")
"""Of `assessment.rates`, in the order of the tables."""


def comment_of(found: Mapping[str, Any], sets: Sequence[str]) -> str:
    """How the constants were found and what they are worth."""
    overall = found["held_out"]["all"]
    answer, memory = overall["answer"], overall["memory"]
    areas = [_shown(answer[f"auroc_{kind}"]) for kind in ("own", "attribute", "near")]
    by_tenant = "".join(
        f"; {name}, every tenant left out in turn, {row['auroc']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        for name, row in found["tenants_left_out"].items()
    )
    return (
        "Fitted by `helix-lab calibrate` (logistic, L2) to judged questions, to questions for what nobody "
        f"told, and to those of other tenants and sets; {ANSWERABLE:.0%} are taken to have an answer. "
        f"Held out set by set: answers Brier {answer['brier']:.3f}, ECE {answer['ece']:.3f}, AUROC "
        f"{areas[0]} against a set's own questions without an answer, {areas[1]} against attributes nobody "
        f"told, {areas[2]} against strangers from nearby{by_tenant}; memories Brier {memory['brier']:.3f}, "
        f"ECE {memory['ece']:.3f}. The threshold holds back at most {found['cost']:.1%} of the questions "
        f"with an answer among the first {LEADING} of any of {', '.join(sets)}."
    )


def print_summary(found: Mapping[str, Any], console: Console) -> None:
    """Every table."""
    held = Table(title="held out: how true the probabilities are", title_justify="left")
    for column in (
        "set",
        "n",
        "none",
        "attr",
        "near",
        "far",
        "AUROC none",
        "attr",
        "near",
        "far",
        "Brier",
        "ECE",
    ):
        held.add_column(column, justify="left" if column == "set" else "right")
    for column in ("memory AUROC", "Brier", "ECE"):
        held.add_column(column, justify="right")
    for name, row in found["held_out"].items():
        answer, memory = row["answer"], row["memory"]
        counts = [str(count) for count in row["questions"].values()]
        areas = [_shown(answer[f"auroc_{kind}"]) for kind in ("own", "attribute", "near", "far")]
        rest = [answer["brier"], answer["ece"], memory["auroc"], memory["brier"], memory["ece"]]
        held.add_row(name, *counts, *areas, *map(_shown, rest))
    console.print(held)
    for title, key in (("answers", "answer"), ("memories", "memory")):
        bins = Table(title=f"held out, all sets: reliability of {title}", title_justify="left")
        for column in ("from", "share", "said", "true"):
            bins.add_column(column, justify="right")
        for row in found["held_out"]["all"][key]["reliability"]:
            bins.add_row(*(f"{row[column]:.3f}" for column in ("from", "share", "said", "true")))
        console.print(bins)
    threshold = found["abstain"]["threshold"]
    _print_rates(f"threshold {threshold}", found["threshold"], console)
    _print_rates("held out: threshold and models of the other sets", found["held_out_threshold"], console)
    for name, row in found["tenants_left_out"].items():
        console.print(
            f"{name}, every tenant left out in turn: AUROC {row['auroc']:.3f} [{row['low']:.2f}, "
            f"{row['high']:.2f}] against its own {row['questions']:.0f} questions without an answer"
        )
    _print_sizes(found["by_size"], console)
    curve = Table(title="what a threshold costs, mean over sets", title_justify="left")
    for column in ("most of a set", "threshold", "held back", "answered: none", "near", "far"):
        curve.add_column(column, justify="right")
    for row in found["curve"]:
        curve.add_row(f"{row['cost']:.1%}", f"{row['threshold']:.4f}", *(_percent(row[key]) for key in RATES))
    console.print(curve)


def _print_sizes(by_size: Mapping[str, Any], console: Console) -> None:
    table = Table(title="held out: by memories in the store", title_justify="left")
    table.add_column("size")
    for column in ("well answered", "held back", "near", "answered", "AUROC", "said", "said: near"):
        table.add_column(column, justify="right")
    for name, row in by_size.items():
        table.add_row(
            name,
            str(row["well_answered"]),
            _percent(row["held_back"]),
            str(row["near"]),
            _percent(row["false_answer_near"]),
            *(_shown(row[key]) for key in ("auroc", "said", "said_near")),
        )
    console.print(table)


def _print_rates(title: str, by_set: Mapping[str, Any], console: Console) -> None:
    table = Table(title=title, title_justify="left")
    for column in ("set", "n", "held back", "answered: none", "near", "far"):
        table.add_column(column, justify="left" if column == "set" else "right")
    for name, row in by_set.items():
        table.add_row(name, str(row["answerable"]), *(_percent(row[key]) for key in RATES))
    console.print(table)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
