"""Stage 1: the question as a vector, once, by the model the generation was made with.

The full-precision vector serves the dense scan, the exact cosines and the router alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_shared.encoders.encoder import Encoder


def embed(question: str, *, encoder: Encoder) -> NDArray[np.float32]:
    """Unit vector of the question, float32 [dimensions]."""
    return encoder.embed_query(question)
