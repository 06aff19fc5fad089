"""Computes the score of a candidate again from its explanation; the result is equal to the last bit.

An explanation (`RecallRequest.explain`) holds all inputs. The arithmetic is that of the service
(`helix_memory.arithmetic`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from helix_memory.arithmetic import (
    ADD,
    MULTIPLY,
    blend,
    lifted,
    normalised,
    product,
    reciprocal,
    stepped,
    weighted,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_memory.recall.v1 import recall_pb2

WEIGHED: Final = ("sim", "recency", "salience", "confidence", "graph")
"""Signals that have a weight by memory type; the method `additive` sums them."""
QUALITY: Final = ("recency", "salience", "confidence")
"""Those that the method `multiplicative` combines into the quality of a memory."""
LATE_INTERACTION: Final = "late_interaction"
"""Name of the step that late interaction adds."""
CROSS_ENCODER: Final = "cross_encoder"
"""Name of the step that a cross-encoder adds."""


def recompute(candidate: recall_pb2.Candidate) -> float:
    """The final score of `candidate`; equal to `candidate.score` in every bit."""
    score = relevance(candidate) * product(boost.value for boost in candidate.boosts)
    for step in candidate.steps:
        value = step.value
        if step.name == LATE_INTERACTION and candidate.HasField("late_interaction"):
            value = interaction_gain(candidate.late_interaction, score)
        elif step.name == CROSS_ENCODER and candidate.HasField("cross_encoding"):
            value = cross_gain(candidate.cross_encoding, score)
        score = stepped(score, ADD if step.adds else MULTIPLY, value)
    return float(score)


def interaction_gain(late: recall_pb2.LateInteraction, before: float) -> float:
    """What late interaction adds to the score `before`: from the similarities of the words, never below 0."""
    total = weighted((1.0, match.rarity) for match in late.words)
    score = weighted((match.rarity, match.similarity) for match in late.words) / total
    return max(float(normalised(score, late.mean, late.deviation)) * late.scale, -before)


def cross_gain(cross: recall_pb2.CrossEncoding, before: float) -> float:
    """What a cross-encoder adds to the score `before`: from the logit, never below 0."""
    return max(float(normalised(cross.logit, cross.mean, cross.deviation)) * cross.scale, -before)


def relevance(candidate: recall_pb2.Candidate) -> float:
    """The score before boosts and steps."""
    values = signals(candidate)
    weights = {signal.name: signal.weight for signal in candidate.signals}
    if candidate.method == "additive":
        return float(weighted((weights[name], values[name]) for name in WEIGHED))
    if candidate.method == "blend":
        return values["sim"]
    whole = float(weighted((1.0, weights[name]) for name in QUALITY))
    quality = weighted((weights[name], values[name]) for name in QUALITY) / (whole or 1.0)
    return float(
        lifted(
            blend(values["graph"], values["sim"], candidate.graph_weight), quality, candidate.quality_weight
        )
    )


def signals(candidate: recall_pb2.Candidate) -> Mapping[str, float]:
    """Normalised value of every signal by name; `sim` is a blend of the fused score and the cosine."""
    found: dict[str, float] = {}
    for signal in candidate.signals:
        if signal.name == "sim":
            found["sim"] = float(blend(found["fused"], found["cosine"], candidate.fused_share))
            continue
        raw = fused(candidate.fusion) if signal.name == "fused" else signal.raw
        flat = signal.normalised
        found[signal.name] = float(normalised(raw, signal.least, signal.span)) if signal.span else flat
    return found


def fused(fusion: recall_pb2.Fusion) -> float:
    """The fused score: the sum over the lists as a 32-bit float; an assigned score is returned as it is."""
    if fusion.assigned:
        return fusion.score
    total = 0.0
    for term in fusion.terms:
        total += contribution(term, method=fusion.method, k=fusion.k)
    rounded: float = struct.unpack("f", struct.pack("f", total))[0]
    return rounded


def contribution(term: recall_pb2.FusionTerm, *, method: str, k: int) -> float:
    """Contribution of one list to the fused score."""
    if method == "rrf":
        return float(reciprocal(term.weight, k, float(term.rank), term.bonus))
    return term.weight * (float(normalised(term.score, term.least, term.span)) if term.span else 1.0)
