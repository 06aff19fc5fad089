"""What a fitted share is worth: by set, against one channel alone, one fixed share, and the model before.

Each set is judged by the model fitted to everything, and by one whose fit never saw a text of its kind; where
all sets are of one kind there is no such model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helix_lab.channel_share.curves import SHARES, Curves
from helix_lab.channel_share.fit import fit, read, shares
from helix_lab.channel_share.kinds import kind_of, metric_of, set_weights

if TYPE_CHECKING:
    from helix_query.profile.sections.fusion import Adaptive

FURTHER: tuple[str, ...] = ("Hit@1", "Hit@5", "nDCG@10")
"""Metrics that are reported besides the main one."""


@dataclass(frozen=True, slots=True)
class Options:
    """How models are fitted."""

    names: tuple[str, ...]
    penalty: float


def assess(
    curves: Sequence[Curves], before: Adaptive | None, model: Adaptive, options: Options
) -> dict[str, Any]:
    """Rows of figures by set, in percent."""
    kinds = list(dict.fromkeys(kind_of(one.set_name) for one in curves))
    held_out = {
        kind: fit(curves, names=options.names, penalty=options.penalty, without=(kind,))
        for kind in kinds
        if len(kinds) > 1
    }
    return {one.set_name: _row(one, before, model, held_out.get(kind_of(one.set_name))) for one in curves}


def mean_over_kinds(rows: Mapping[str, Any], key: str) -> float:
    """Mean of a figure of the main metric, every kind of text with the same weight."""
    weighed = set_weights({name: row["questions"] for name, row in rows.items()})
    found = sum(weight * rows[name]["main"][key] for name, weight in weighed.items())
    return float(found / sum(weighed.values()))


def _row(one: Curves, before: Adaptive | None, model: Adaptive, held_out: Adaptive | None) -> dict[str, Any]:
    main = metric_of(one.set_name)
    figures = {
        metric: _figures(one, metric, before, model, held_out) for metric in dict.fromkeys((main, *FURTHER))
    }
    return {
        "kind": kind_of(one.set_name),
        "metric": main,
        "questions": len(one),
        "mean_share": float(shares(one, model).mean()),
        "main": figures[main],
        "metrics": figures,
    }


def _figures(
    one: Curves, metric: str, before: Adaptive | None, model: Adaptive, held_out: Adaptive | None
) -> dict[str, float | None]:
    gains = one.gains(metric)
    fixed = 100 * gains.mean(axis=0)

    def mean(adaptive: Adaptive) -> float:
        return float(100 * read(gains, shares(one, adaptive))[0].mean())

    return {
        "lexical": float(fixed[0]),
        "dense": float(fixed[-1]),
        "best_fixed": float(fixed.max()),
        "best_fixed_share": SHARES[int(fixed.argmax())],
        "before": None if before is None else mean(before),
        "fitted": mean(model),
        "held_out": None if held_out is None else mean(held_out),
    }
