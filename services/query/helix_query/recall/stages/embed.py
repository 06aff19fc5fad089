"""Stage 1: the query as a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.context import RecallContext


def embed(context: RecallContext) -> NDArray[np.float32]:
    """Unit vector of the query, float32 [dimensions]."""
    return context.snapshot.encoder.embed_query(context.query.text)
