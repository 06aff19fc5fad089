"""The constants a search may change: key, kind, bounds. A new constant is one line of `SPACE`.

Bounds are where a value is plausible, not where a profile stops being valid. `search` proposes values, the
profile checks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from helix_query.profile.intent import Intent
from helix_query.profile.overrides import constant
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

    from helix_query.profile.profile import RankingProfile

Kind = Literal["float", "log", "int", "log_int", "choice"]


@dataclass(frozen=True, slots=True)
class Knob:
    """One constant; `log` kinds are searched by ratio, the others by difference."""

    key: str
    kind: Kind
    low: float = 0.0
    high: float = 1.0
    choices: tuple[str, ...] = ()
    complement: str = ""
    """This key gets 1 - value: of two weights only the ratio matters."""
    needs: tuple[tuple[str, str | None], ...] = ()
    """Constants with the values without which this one is not read; None: any value that is not empty."""
    usual: bool = True
    """Constants searched if no space is named; none changes retrieval, which would have to be repeated."""

    def suggest(self, trial: BaseTrial) -> Any:
        """A value for this trial; floats have three digits, so that a profile stays readable."""
        if self.kind == "choice":
            return trial.suggest_categorical(self.key, self.choices)
        if self.kind in {"int", "log_int"}:
            low, high = int(self.low), int(self.high)
            return trial.suggest_int(self.key, low, high, log=self.kind == "log_int")
        value = trial.suggest_float(self.key, self.low, self.high, log=self.kind == "log")
        return min(max(float(f"{value:.3g}"), self.low), self.high)

    def holds(self, value: Any) -> bool:
        """Whether the search could propose `value` itself."""
        if self.kind == "choice":
            return value in self.choices
        return isinstance(value, int | float) and self.low <= value <= self.high

    def changes(self, value: Any) -> dict[str, Any]:
        """Constants by key."""
        return {self.key: value} | ({self.complement: round(1.0 - value, 6)} if self.complement else {})


_MULTIPLICATIVE: Final = ("rank.method", "multiplicative")
_TYPE_WEIGHTS: Final = ("rank.weights", None)

SPACE: Final = (
    Knob("fuse.method", "choice", choices=("rrf", "minmax")),
    Knob("fuse.k", "log_int", 1, 120, needs=(("fuse.method", "rrf"),)),
    Knob("fuse.weights.dense", "float", 0.0, 1.0, complement="fuse.weights.lexical"),
    Knob(
        f"fuse.by_intent.{Intent.EXACT_LOOKUP}.dense",
        "float",
        0.0,
        1.0,
        complement=f"fuse.by_intent.{Intent.EXACT_LOOKUP}.lexical",
    ),
    Knob("expand.method", "choice", choices=("pagerank", "walk"), usual=False),
    Knob("expand.hops", "int", 1, 2, needs=(("expand.method", "walk"),), usual=False),
    Knob("expand.restart", "float", 0.05, 0.9, needs=(("expand.method", "pagerank"),)),
    Knob("expand.seed_exponent", "log", 0.5, 16.0),
    Knob("expand.entity_restart_share", "float", 0.0, 1.0),
    Knob("expand.graph_candidates", "int", 0, 100),
    Knob("expand.graph_candidates_single_hop", "int", 0, 100),
    Knob("expand.hub_cap", "log_int", 10, 1_000),
    Knob("expand.mass_cap", "float", 0.05, 1.0),
    Knob("rank.fused_share", "float", 0.0, 1.0),
    Knob("rank.quality_weight", "float", 0.0, 0.5, needs=(_MULTIPLICATIVE, _TYPE_WEIGHTS), usual=False),
    Knob("rank.graph_weight", "float", 0.0, 0.5, needs=(_MULTIPLICATIVE,)),
    Knob("rank.graph_weight_multi_hop", "float", 0.0, 1.0, needs=(_MULTIPLICATIVE,)),
    Knob("rank.boosts.window", "float", 0.0, 2.0),
    Knob("rank.current_min_score", "float", 0.0, 1.0),
    Knob("rerank.candidates", "int", 10, 100, needs=(("rerank.candidates", None),)),
    Knob("rerank.weight", "float", 0.0, 2.0, needs=(("rerank.candidates", None),)),
    Knob("diversify.near_duplicate", "float", 0.5, 1.01),
    Knob("diversify.mmr_lambda", "float", 0.5, 1.0),
    Knob("diversify.session_floor", "float", 0.0, 1.01),
    Knob("route.centroid_margin", "float", 0.0, 0.5, usual=False),
    Knob("rank.method", "choice", choices=("additive", "multiplicative"), usual=False),
    Knob("rank.weights.*.sim", "float", 0.0, 1.0, needs=(_TYPE_WEIGHTS,), usual=False),
    Knob("rank.weights.*.recency", "float", 0.0, 1.0, needs=(_TYPE_WEIGHTS,), usual=False),
    Knob("rank.weights.*.salience", "float", 0.0, 1.0, needs=(_TYPE_WEIGHTS,), usual=False),
    Knob("rank.weights.*.confidence", "float", 0.0, 1.0, needs=(_TYPE_WEIGHTS,), usual=False),
    Knob("rank.weights.*.graph", "float", 0.0, 1.0, needs=(_TYPE_WEIGHTS,), usual=False),
    Knob("rank.recency_per_hour", "float", 0.9, 1.0, usual=False),
    Knob("expand.edges.MENTIONS", "float", 0.0, 4.0, usual=False),
    Knob("expand.edges.RELATES", "float", 0.0, 4.0, usual=False),
    Knob("expand.edges.PART_OF", "float", 0.0, 4.0, usual=False),
    Knob("expand.edges.IN_CATEGORY", "float", 0.0, 4.0, usual=False),
    Knob("expand.edges.CONTRADICTS", "float", 0.0, 4.0, usual=False),
    Knob("retrieve.limits.dense", "int", 20, 400, usual=False),
    Knob("retrieve.limits.lexical", "int", 20, 400, usual=False),
    Knob("retrieve.fields.context", "float", 0.0, 2.0, usual=False),
    Knob("retrieve.fields.expansions", "float", 0.0, 2.0, usual=False),
    Knob("retrieve.fields.exact", "float", 0.0, 3.0, usual=False),
)


def chosen_space(keys: str) -> tuple[Knob, ...]:
    """The knobs of a comma-separated list of keys; of an empty one the usual knobs.

    Raises:
        InvalidInputError: a key is not in the space; names those that are.
    """
    wanted = list(dict.fromkeys(key.strip() for key in keys.split(",") if key.strip()))
    known = {knob.key: knob for knob in SPACE}
    unknown = [key for key in wanted if key not in known]
    if unknown:
        raise InvalidInputError("space", f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return tuple(known[key] for key in wanted) or tuple(knob for knob in SPACE if knob.usual)


def proposed(trial: BaseTrial, space: Sequence[Knob], start: RankingProfile) -> dict[str, Any]:
    """Constants by key for this trial; a constant that nothing would read keeps its value in `start`."""
    changes: dict[str, Any] = {}
    for knob in sorted(space, key=lambda knob: bool(knob.needs)):
        if _read(knob, changes, start):
            changes |= knob.changes(knob.suggest(trial))
    return changes


def own_values(space: Sequence[Knob], start: RankingProfile) -> dict[str, Any]:
    """What `start` has for each knob, as far as the search could propose it itself."""
    return dict(_own(space, start))


def _own(space: Sequence[Knob], start: RankingProfile) -> Iterator[tuple[str, Any]]:
    for knob in space:
        value = constant(start, knob.key)
        if knob.complement and knob.holds(value):
            whole = value + (constant(start, knob.complement) or 0.0)
            value = value / whole if whole else None
        if knob.holds(value):
            yield knob.key, value


def _read(knob: Knob, changes: Mapping[str, Any], start: RankingProfile) -> bool:
    values = {key: changes[key] if key in changes else constant(start, key) for key, _ in knob.needs}
    return all(bool(values[key]) if wanted is None else values[key] == wanted for key, wanted in knob.needs)
