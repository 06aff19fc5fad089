"""The query adapter of the package, fitted for the default model; other models have none."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from helix_shared.encoders.query_adapter import QueryAdapter

ADAPTER_FILE: Final = "query_adapter.npz"


@cache
def adapter_for(model: str) -> QueryAdapter | None:
    """The query adapter for the model of this checksum; None: it was fitted for another one.

    Raises:
        CorruptArtifactError: the file of the package was changed.
    """
    found = QueryAdapter.load(resources.files("helix_query.profile") / ADAPTER_FILE)
    return found if found.model == model else None
