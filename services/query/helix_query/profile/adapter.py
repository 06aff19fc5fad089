"""The query adapter of the package, fitted for the default model; other models have none.

Those of single tenants are in the data folder: `generations.learned_adapters`.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from helix_shared.encoders.query_adapter import QueryAdapter

if TYPE_CHECKING:
    from helix_shared.encoders.encoder import Encoder
    from helix_shared.encoders.model import ModelCard

ADAPTER_FILE: Final = "query_adapter.npz"


def adapter_for(encoder: Encoder) -> QueryAdapter | None:
    """The query adapter in the numbers of the encoder's projection; None: it was fitted for another model.

    Raises:
        CorruptArtifactError: the file of the package was changed.
    """
    checksum = encoder.card.checksum
    if checksum not in _OF_MODELS:
        found = _load()
        is_fitted = found.encoder == encoder.card.encoder_checksum
        _OF_MODELS[checksum] = found.for_encoder(encoder) if is_fitted else None
    return _OF_MODELS[checksum]


def is_adapter_for(card: ModelCard) -> bool:
    """Whether the query adapter was fitted for this encoder.

    Raises: as `adapter_for`.
    """
    return _load().encoder == card.encoder_checksum


@cache
def _load() -> QueryAdapter:
    return QueryAdapter.load(resources.files("helix_query.profile") / ADAPTER_FILE)


_OF_MODELS: Final[dict[str, QueryAdapter | None]] = {}
"""Adapters by the checksum of a model."""
