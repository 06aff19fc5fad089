"""A candidate's score taken apart: what each part is, and the score after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_memory.arithmetic import ADD, MULTIPLY, stepped
from helix_memory.explanation import CROSS_ENCODER, LATE_INTERACTION, cross_gain, interaction_gain, recompute
from helix_memory.recall.v1 import recall_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator


TIMES: Final = "\N{MULTIPLICATION SIGN}"
MINUS: Final = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Part:
    """One change of the score."""

    name: str
    change: str
    """With its sign."""
    after: float
    is_change: bool = True
    """Whether it is more than adding 0 or multiplying by 1."""


@dataclass(frozen=True, slots=True)
class Score:
    """A candidate, and how its score came about."""

    candidate: recall_pb2.Candidate
    parts: Sequence[Part]
    """Those that changed it."""
    unchanged: Sequence[str]
    """Names of the others."""
    signals: Sequence[recall_pb2.Signal]
    """Those that have a weight."""
    is_exact: bool
    """Whether computing it again gives the same score, to the last bit."""
    loss: str
    """Why it is not in the answer; empty: it is."""


def score_of(candidate: recall_pb2.Candidate) -> Score:
    """The score of a candidate taken apart."""
    relevance, *parts = _parts(candidate)
    return Score(
        candidate,
        [relevance, *(one for one in parts if one.is_change)],
        [one.name for one in parts if not one.is_change],
        [one for one in candidate.signals if one.weight],
        recompute(candidate) == candidate.score,
        loss_of(candidate),
    )


def loss_of(candidate: recall_pb2.Candidate) -> str:
    """Why a candidate is not in the answer, in words; empty: it is."""
    name = recall_pb2.Loss.Name(candidate.loss).removeprefix("LOSS_")
    return "" if name == "NONE" else name.lower().replace("_", " ")


def _parts(candidate: recall_pb2.Candidate) -> Iterator[Part]:
    score = candidate.relevance
    yield Part("relevance", candidate.method, score)
    for boost in candidate.boosts:
        score *= boost.value
        yield Part(boost.name, f"{TIMES} {boost.value:.4g}", score, boost.value != 1)
    for step in candidate.steps:
        value = _value(candidate, step, score)
        score = float(stepped(score, ADD if step.adds else MULTIPLY, value))
        is_change = value != (0 if step.adds else 1)
        yield Part(step.name, _change(value) if step.adds else f"{TIMES} {value:.4g}", score, is_change)


def _change(value: float) -> str:
    return f"{MINUS if value < 0 else '+'} {abs(value):.4g}"


def _value(candidate: recall_pb2.Candidate, step: recall_pb2.Step, score: float) -> float:
    """What a step adds or multiplies by, exactly where the explanation has its inputs."""
    if step.name == LATE_INTERACTION and candidate.HasField("late_interaction"):
        return interaction_gain(candidate.late_interaction, score)
    if step.name == CROSS_ENCODER and candidate.HasField("cross_encoding"):
        return cross_gain(candidate.cross_encoding, score)
    return float(step.value)
