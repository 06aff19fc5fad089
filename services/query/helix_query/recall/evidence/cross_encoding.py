"""The logits of a cross-encoder for the query and the first candidates."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import CrossEncoding
from helix_shared.encoders.cross_encoder import MOST_PAIRS
from helix_shared.encoders.passages import before_record
from helix_shared.errors import CorruptArtifactError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.reranking import CrossEncode
    from helix_query.recall.candidates import Candidates, Ranked, Route
    from helix_query.recall.context import RecallContext

DEGRADED_CROSS_ENCODER: Final = "cross-encoder"
"""Name in `Candidates.degraded` where the candidates were not compared for lack of time."""
MIN_COMPARED: Final = 2
"""Candidates that can be compared with each other."""
RESERVED_SECONDS: Final = 0.1
"""Time before the deadline of a recall that is left to the stages that follow."""

_log = logger(__name__)


def is_cross_encoded(context: RecallContext, route: Route) -> bool:
    """Whether the profile wants it for this query.

    Never in mode dense, nor for questions over several hops: their later hops share nothing with the query,
    which is all that a cross-encoder sees.
    """
    constants = context.profile.rerank.cross_encoder
    return (
        bool(constants.model and constants.weight_for(route.intents))
        and context.query.mode != "dense"
        and Intent.MULTI_HOP not in route.intents
    )


def cross_encoding(
    context: RecallContext, candidates: Candidates, ranked: Ranked, route: Route
) -> CrossEncoding | None:
    """Logits of the first of `ranked` that have a text; None: the time was too short for all of them.

    An empty result: fewer than `MIN_COMPARED` have a text.
    """
    constants = context.profile.rerank.cross_encoder
    positions = np.sort(ranked.first(min(constants.candidates, MOST_PAIRS)).positions)
    ordinals = candidates.ordinals[positions]
    records = context.generation.signals.records(ordinals)
    texts = {one["ordinal"]: before_record(one) + one["text"] for one in records}
    positions = positions[np.isin(ordinals, list(texts))]
    weight = constants.weight_for(route.intents)
    if len(positions) < MIN_COMPARED:
        return CrossEncoding(constants.model, positions[:0], np.empty(0), weight)
    passages = [texts[ordinal] for ordinal in candidates.ordinals[positions].tolist()]
    logits = _logits(context, constants, passages)
    return None if logits is None else CrossEncoding(constants.model, positions, logits, weight)


def _logits(
    context: RecallContext, constants: CrossEncode, passages: list[str]
) -> NDArray[np.float64] | None:
    model = context.snapshot.cross_encoder(constants.model)
    until = min(time.monotonic() + constants.seconds, context.deadline - RESERVED_SECONDS)
    try:
        return model.logits(context.query.text, passages, until=until)
    except CorruptArtifactError as error:
        _log.error("cross_encoder_failed", model=model.card.id, reason=str(error))
        return None
