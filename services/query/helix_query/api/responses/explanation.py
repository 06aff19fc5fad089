"""Fills the messages of an explanation; numbers are copied, never computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from helix_memory.arithmetic import ADD, normalised
from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explanation import STAGES, Loss
from helix_query.profile.sections.section import LEXICAL
from helix_query.recall.candidates import DEFINITION, PHRASE_MATCH, TERM_COVERAGE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.diagnostics.explanation import Explanation
    from helix_query.recall.candidates import FusionInput

Rows = Mapping[int, int]
"""Row of a list by what stands there: an ordinal, or a position among the candidates."""


def explanation_message(explanation: Explanation) -> recall_pb2.Explanation:
    """The listed candidates, best first."""
    messages = CandidateMessages(explanation)
    return recall_pb2.Explanation(
        candidates=[
            messages.of(position) for position in explanation.listed if position in explanation.shown
        ],
        dense_share=explanation.dense_share,
        threshold=explanation.threshold,
        threshold_on_relevance=explanation.threshold_on == "relevance",
        withheld=explanation.withheld,
        graph_method=explanation.trace.candidates.walked or "",
        query_adapter=explanation.query_adapter,
        candidate_count=explanation.candidate_count,
    )


class CandidateMessages:
    """Fills the messages of the candidates of one explanation.

    Where a candidate stands in each list is looked up in one table a list, made once for all candidates.
    """

    def __init__(self, explanation: Explanation) -> None:
        trace = explanation.trace
        self._explanation = explanation
        self._candidates = trace.candidates
        self._scoring = explanation.scoring
        retrieved = trace.retrieved
        # of the channels, then of the evidence, which the lexical channel's executor looks up
        lists = [(ranking.channel, ranking.words, ranking.hits) for ranking in retrieved.rankings]
        for name, hits in (
            (PHRASE_MATCH, retrieved.phrase_match),
            (DEFINITION, retrieved.definition),
            (TERM_COVERAGE, retrieved.term_coverage),
        ):
            lists += [] if hits is None else [(LEXICAL, name, hits)]
        self._lists = [(channel, words, hits, _rows(hits.ordinals)) for channel, words, hits in lists]
        self._fused = [(one, _rows(one.hits.ordinals)) for one in trace.fused.fusion_inputs]
        late, cross = trace.candidates.late_interaction, trace.candidates.cross_encoding
        self._late: Rows = {} if late is None else _rows(late.positions)
        self._cross: Rows = {} if cross is None else _rows(cross.positions)

    def of(self, position: int) -> recall_pb2.Candidate:
        """All numbers of the candidate at `position`, which is shown."""
        explanation, candidates, scoring = self._explanation, self._candidates, self._scoring
        loss = Loss(explanation.losses[position])
        memory_id, excerpt = explanation.shown[position]
        repeats = loss in (Loss.NEAR_DUPLICATE, Loss.SAME_TURN, Loss.RESTATEMENT)
        duplicate = explanation.duplicates.get(position) if repeats else None
        ordinal = int(candidates.ordinals[position])
        return recall_pb2.Candidate(
            memory_id=memory_id,
            excerpt=excerpt,
            hits=self._hits(ordinal),
            fusion=self._fusion(ordinal, position),
            cosine=candidates.cosine[position],
            graph_mass=candidates.mass[position],
            coverage=None if candidates.coverage is None else candidates.coverage[position],
            signals=self._signals(position),
            method=scoring.relevance.method,
            fused_share=scoring.fused_share,
            graph_weight=scoring.relevance.graph_weight,
            quality_weight=scoring.relevance.quality_weight,
            relevance=scoring.relevance.values[position],
            boosts=[
                recall_pb2.Factor(name=name, value=values[position])
                for name, values in scoring.boosts.items()
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
            rank=explanation.ranks.get(memory_id, 0),
            packed=loss is Loss.NONE,
            late_interaction=self._late_interaction(position),
            cross_encoding=self._cross_encoding(position),
        )

    def _hits(self, ordinal: int) -> list[recall_pb2.ChannelHit]:
        return [
            recall_pb2.ChannelHit(channel=channel, query=words, rank=row + 1, score=hits.scores[row])
            for channel, words, hits, rows in self._lists
            if (row := rows.get(ordinal)) is not None
        ]

    def _fusion(self, ordinal: int, position: int) -> recall_pb2.Fusion:
        terms = [_term(one, row) for one, rows in self._fused if (row := rows.get(ordinal)) is not None]
        return recall_pb2.Fusion(
            method=self._explanation.method,
            k=self._explanation.k,
            terms=terms,
            score=self._candidates.fused[position],
            assigned=not terms,
        )

    def _signals(self, position: int) -> list[recall_pb2.Signal]:
        return [
            recall_pb2.Signal(
                name=name,
                raw=signal.raw[position],
                least=signal.least,
                span=signal.span,
                normalised=signal.normal[position],
                weight=self._scoring.weight(name, position),
            )
            for name, signal in self._scoring.signals.items()
        ]

    def _late_interaction(self, position: int) -> recall_pb2.LateInteraction | None:
        late, row = self._candidates.late_interaction, self._late.get(position)
        gains = self._scoring.interaction_gains
        if late is None or gains is None or row is None:
            return None
        nearest = self._explanation.nearest.value[position]
        words = zip(late.words, nearest, late.similarities[:, row], late.rarities, strict=True)
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

    def _cross_encoding(self, position: int) -> recall_pb2.CrossEncoding | None:
        cross, row = self._candidates.cross_encoding, self._cross.get(position)
        gains = self._scoring.cross_gains
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


def _rows(entries: NDArray[np.int64]) -> Rows:
    return {entry: row for row, entry in enumerate(entries.tolist())}
