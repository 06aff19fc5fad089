"""The query adapter of the package, fitted for the default model; other models have none."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from helix_shared.encoders.query_adapter import QueryAdapter

if TYPE_CHECKING:
    from helix_shared.encoders.encoder import Encoder

ADAPTER_FILE: Final = "query_adapter.npz"


def adapter_for(encoder: Encoder) -> QueryAdapter | None:
    """The query adapter in the numbers of the encoder's projection; None: it was fitted for another model.

    Raises:
        CorruptArtifactError: the file of the package was changed.
    """
    checksum = encoder.card.checksum
    if checksum not in _OF_MODELS:
        found = QueryAdapter.load(resources.files("helix_query.profile") / ADAPTER_FILE)
        is_fitted = found.encoder == encoder.card.encoder_checksum
        matrix = encoder.required_projection().matrix if is_fitted else None
        _OF_MODELS[checksum] = None if matrix is None else found.for_projection(matrix)
    return _OF_MODELS[checksum]


_OF_MODELS: Final[dict[str, QueryAdapter | None]] = {}
"""By the checksum of a model."""
