"""What the writer needs of installed models: the model of an empty generation, and trained vector prefixes.

A data folder in which nothing was ever stored begins with an empty generation. Recalls and lists then answer
that there is nothing, in place of an error. Its model is the default one of those that are installed; the
first memories message may name another, which replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.ledger.consolidation_state import Model
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import CorruptArtifactError, InvalidInputError, NotFoundError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

    from helix_consolidation.stores.shard import Shard

_log = logger(__name__)


def begin_empty(shard: Shard, models: Path) -> None:
    """Create the empty stores of a shard for the default model under `models`.

    Without one the first memories message creates them, as it names its model.
    """
    try:
        card = read_card(default_model(models))
    except (NotFoundError, CorruptArtifactError, InvalidInputError) as error:
        _log.warning("no_empty_generation", reason=str(error))
        return
    shard.begin(Model(card.name, card.checksum, card.dimensions))


def require_trained_prefix(models: Path, dimensions: int) -> None:
    """Refuse searches of the first `dimensions` of vectors whose model was not trained for it; 0: all.

    Raises:
        InvalidInputError: the default model under `models` does not declare such a prefix.
        NotFoundError: there is no model under `models`, so nothing declares it.
    """
    if dimensions:
        read_card(default_model(models)).require_matryoshka(dimensions)
