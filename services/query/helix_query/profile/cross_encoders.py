"""The cross-encoders that ranking profiles name, loaded when a service starts."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Semaphore
from typing import TYPE_CHECKING

from helix_shared.encoders.cross_encoder import SAMPLE_TOKENS, CrossEncoder
from helix_shared.encoders.store import reranker_folder
from helix_shared.errors import InvalidInputError, PermanentError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

    from helix_query.profile.profile import RankingProfile

MILLISECONDS = 1_000.0
_log = logger(__name__)


def profiles_by_cross_encoder(profiles: Mapping[str, RankingProfile]) -> dict[str, list[str]]:
    """Names of the profiles by the cross-encoder that they name; empty: none is used."""
    found: dict[str, list[str]] = {}
    for profile in profiles.values():
        if model := profile.rerank.cross_encoder.model:
            found.setdefault(model, []).append(profile.name)
    return found


def load_cross_encoders(
    models: Path, profiles: Mapping[str, RankingProfile], *, recalls: int, threads: int = 1
) -> Mapping[str, CrossEncoder]:
    """By name, each checked, loaded and timed; empty where no profile names one.

    Of `recalls` that are computed at once all but one may compare: one thread is left for those that do not.
    A pair is run by `threads` threads.

    Raises:
        InvalidInputError: a named model is not under `models`, or cannot be run; names profile and key.
    """
    places, found = Semaphore(max(1, recalls - 1)), {}
    for model, names in profiles_by_cross_encoder(profiles).items():
        try:
            loaded = CrossEncoder.load(reranker_folder(models, model), threads=threads, places=places)
        except PermanentError as error:
            raise InvalidInputError(f"{names[0]}: rerank.cross_encoder.model", str(error)) from error
        found[model] = loaded
        pair_ms = round(loaded.pair_seconds * MILLISECONDS, 2)
        _log.info(
            "cross_encoder_on", model=loaded.card.id, profiles=names, pair_ms=pair_ms, tokens=SAMPLE_TOKENS
        )
    return found
