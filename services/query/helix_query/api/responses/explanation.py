"""Fills the messages of an explanation; numbers are copied, never computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from helix_memory.arithmetic import ADD, normalised
from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explanation import STAGES, Loss
from helix_query.profile.sections.section import LEXICAL
from helix_query.recall.candidates import PHRASE_MATCH, TERM_COVERAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.diagnostics.explanation import Explanation
    from helix_query.recall.candidates import FusionInput
    from helix_query.recall.stages.scoring import Scoring


def explanation_message(explanation: Explanation) -> recall_pb2.Explanation:
    """All candidates, best first."""
    return recall_pb2.Explanation(
        candidates=[
            candidate_message(explanation, position)
            for position in explanation.order
            if position in explanation.shown
        ],
        dense_share=explanation.dense_share,
        threshold=explanation.threshold,
        threshold_on_relevance=explanation.threshold_on == "relevance",
        withheld=len(explanation.trace.candidates) - len(explanation.shown),
        graph_method=explanation.trace.candidates.walked or "",
        query_adapter=explanation.query_adapter,
    )


def candidate_message(explanation: Explanation, position: int) -> recall_pb2.Candidate:
    """All numbers of the candidate at `position`."""
    candidates, scoring, loss = (
        explanation.trace.candidates,
        explanation.scoring,
        Loss(explanation.losses[position]),
    )
    memory_id, excerpt = explanation.shown[position]
    repeats = loss in (Loss.NEAR_DUPLICATE, Loss.SAME_TURN, Loss.RESTATEMENT)
    duplicate = explanation.duplicates.get(position) if repeats else None
    rank = explanation.ranks.get(memory_id, 0)
    return recall_pb2.Candidate(
        memory_id=memory_id,
        excerpt=excerpt,
        hits=list(_hits(explanation, int(candidates.ordinals[position]))),
        fusion=_fusion(explanation, position),
        cosine=candidates.cosine[position],
        graph_mass=candidates.mass[position],
        coverage=None if candidates.coverage is None else candidates.coverage[position],
        signals=list(_signals(scoring, position)),
        method=scoring.relevance.method,
        fused_share=scoring.fused_share,
        graph_weight=scoring.relevance.graph_weight,
        quality_weight=scoring.relevance.quality_weight,
        relevance=scoring.relevance.values[position],
        boosts=[
            recall_pb2.Factor(name=name, value=values[position]) for name, values in scoring.boosts.items()
        ],
        steps=[
            recall_pb2.Step(name=step.name, value=step.values[position], adds=step.operation == ADD)
            for step in scoring.steps
        ],
        score=scoring.scores[position],
        place=explanation.places[position],
        loss=recall_pb2.Loss.Value(f"LOSS_{loss.name}"),
        dropped_by=STAGES[loss],
        duplicate_of="" if duplicate is None else explanation.shown.get(duplicate.position, ("",))[0],
        similarity=0.0 if duplicate is None else duplicate.similarity,
        rank=rank,
        packed=loss is Loss.NONE,
        late_interaction=_late_interaction(explanation, position),
        cross_encoding=_cross_encoding(explanation, position),
    )


def _hits(explanation: Explanation, ordinal: int) -> Iterator[recall_pb2.ChannelHit]:
    """Of the channels, then of the evidence, which the lexical channel's executor looks up."""
    retrieved = explanation.trace.retrieved
    lists = [(ranking.channel, ranking.words, ranking.hits) for ranking in retrieved.rankings]
    for name, hits in ((PHRASE_MATCH, retrieved.phrase_match), (TERM_COVERAGE, retrieved.term_coverage)):
        lists += [] if hits is None else [(LEXICAL, name, hits)]
    for channel, words, hits in lists:
        row = _row(hits.ordinals, ordinal)
        if row is not None:
            yield recall_pb2.ChannelHit(channel=channel, query=words, rank=row + 1, score=hits.scores[row])


def _fusion(explanation: Explanation, position: int) -> recall_pb2.Fusion:
    candidates = explanation.trace.candidates
    ordinal = int(candidates.ordinals[position])
    terms = [
        _term(one, row)
        for one in explanation.trace.fused.fusion_inputs
        if (row := _row(one.hits.ordinals, ordinal)) is not None
    ]
    return recall_pb2.Fusion(
        method=explanation.method,
        k=explanation.k,
        terms=terms,
        score=candidates.fused[position],
        assigned=not terms,
    )


def _term(one: FusionInput, row: int) -> recall_pb2.FusionTerm:
    return recall_pb2.FusionTerm(
        channel=one.ranking.channel,
        query=one.ranking.words,
        rank=row + 1,
        score=one.hits.scores[row],
        weight=one.weight,
        least=one.least,
        span=one.span,
        normalised=one.normal[row],
        bonus=0.0 if one.bonuses is None else one.bonuses[row],
        contribution=one.scores[row],
    )


def _signals(scoring: Scoring, position: int) -> Iterator[recall_pb2.Signal]:
    for name, signal in scoring.signals.items():
        yield recall_pb2.Signal(
            name=name,
            raw=signal.raw[position],
            least=signal.least,
            span=signal.span,
            normalised=signal.normal[position],
            weight=scoring.weight(name, position),
        )


def _late_interaction(explanation: Explanation, position: int) -> recall_pb2.LateInteraction | None:
    late, gains = explanation.trace.candidates.late, explanation.scoring.late
    row = None if late is None else _row(late.positions, position)
    if late is None or gains is None or row is None:
        return None
    words = zip(
        late.words, explanation.nearest[position], late.similarities[:, row], late.rarities, strict=True
    )
    return recall_pb2.LateInteraction(
        words=[
            recall_pb2.WordMatch(word=word, nearest=nearest, similarity=similarity, rarity=rarity)
            for word, nearest, similarity, rarity in words
        ],
        score=gains.found[row],
        mean=gains.mean,
        deviation=gains.deviation,
        scale=gains.scale,
    )


def _cross_encoding(explanation: Explanation, position: int) -> recall_pb2.CrossEncoding | None:
    cross, gains = explanation.trace.candidates.cross, explanation.scoring.cross
    row = None if cross is None else _row(cross.positions, position)
    if cross is None or gains is None or row is None:
        return None
    return recall_pb2.CrossEncoding(
        model=cross.model,
        logit=gains.found[row],
        mean=gains.mean,
        deviation=gains.deviation,
        normalised=normalised(gains.found[row], gains.mean, gains.deviation),
        weight=cross.weight,
        scale=gains.scale,
    )


def _row(ordinals: NDArray[np.int64], ordinal: int) -> int | None:
    rows = np.flatnonzero(ordinals == ordinal)
    return int(rows[0]) if len(rows) else None
