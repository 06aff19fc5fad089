"""The figures of a simulation, each with its source; a file of the operator replaces some of them."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from helix_shared.errors import InvalidInputError

MEASURED: Final = Path(__file__).with_name("measured.toml")
BASES: Final = ("measured", "derived", "assumed")
NORMAL_95: Final = 1.6448536269514722
"""The 95th percentile of the standard normal distribution."""
LARGEST: Final = 1e6
LEAST_ABOVE_0: Final = 1e-6
ABOVE_0: Final = frozenset(["recall_seconds", "ingest_seconds", "pull_seconds", "copy_events_per_second"])
"""Figures that something is divided by, or whose logarithm is taken: they are `LEAST_ABOVE_0` or more."""

Basis = Literal["measured", "derived", "assumed"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where one figure comes from."""

    basis: Basis
    text: str


@dataclass(frozen=True, slots=True)
class Parameters:
    """Seconds of one server, unless the name says otherwise; `measured.toml` says what each is."""

    recall_seconds: float
    recall_p95_over_p50: float
    network_seconds: float
    ingest_seconds: float
    derive_seconds: float
    write_batch_seconds: float
    write_event_seconds: float
    publish_seconds: float
    publish_interval_seconds: float
    pull_seconds: float
    pull_p95_over_p50: float
    writer_return_seconds: float
    leader_return_seconds: float
    copy_events_per_second: float
    switch_seconds: float
    sources: dict[str, Source] = field(default_factory=dict)


def spread(p95_over_p50: float) -> float:
    """Sigma of the log-normal distribution with this ratio."""
    return math.log(p95_over_p50) / NORMAL_95


def load_parameters(path: Path | None = None) -> Parameters:
    """The shipped figures, with those of `path` in place of some.

    Raises:
        InvalidInputError: the file cannot be read; a figure is unknown, without a source, or out of bounds.
    """
    found = _read(MEASURED) | (_read(path) if path else {})
    names = [one.name for one in fields(Parameters) if one.name != "sources"]
    if unknown := sorted(found.keys() - set(names)):
        raise InvalidInputError(unknown[0], f"unknown figure; known: {', '.join(names)}")
    values = {name: _number(name, found[name]) for name in names}
    return Parameters(**values, sources={name: _source(name, found[name]) for name in names})


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError("parameters", f"{path} cannot be read: {error}") from error


def _number(name: str, given: Any) -> float:
    value = given.get("value") if isinstance(given, dict) else None
    least = 1.0 if name.endswith("p95_over_p50") else LEAST_ABOVE_0 if name in ABOVE_0 else 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= LARGEST:
        raise InvalidInputError(
            f"{name}.value", f"must be a number from {least:g} to {LARGEST:g}, not {value!r}"
        )
    return float(value)


def _source(name: str, given: dict[str, Any]) -> Source:
    basis, text = given.get("basis"), given.get("source")
    if basis not in BASES:
        raise InvalidInputError(f"{name}.basis", f"must be one of {', '.join(BASES)}")
    if not isinstance(text, str) or not text:
        raise InvalidInputError(f"{name}.source", "must say where the figure comes from")
    return Source(basis, text)
