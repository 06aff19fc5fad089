"""A query adapter: moves the embedding of a question nearer to those of the memories that answer it.

A question and the statement that answers it are different kinds of sentences, and an encoder that was not
trained on memories keeps them apart. The adapter is two matrices that are added to the identity, one for the
vector and one for the projected states of the tokens; memories stay as they are, so nothing is embedded
again. It was fitted for one model (`helix-lab adapter`) and is of no use for another. Builds of that model
on other kinds of processors have a slightly different token projection, so the adapter holds the one that it
was fitted with and is turned into the numbers of another (`for_projection`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from zipfile import BadZipFile

import numpy as np

from helix_shared.encoders.token_codes import CODE_BITS
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.encoders.encoder import Encoder
    from helix_shared.encoders.token_codes import QueryTokens


@dataclass(frozen=True, slots=True, eq=False)
class QueryAdapter:
    """Immutable and thread-safe."""

    encoder: str
    """`ModelCard.encoder_checksum` of the model it was fitted for."""
    of_vector: NDArray[np.float32]
    """[d, d]; zeros change nothing."""
    of_states: NDArray[np.float32]
    """[CODE_BITS, CODE_BITS] in the numbers of `projection`; zeros change nothing."""
    projection: NDArray[np.float32]
    """[d, CODE_BITS], `TokenProjection.matrix`; its columns are orthonormal, or its rows if d is smaller."""

    @classmethod
    def load(cls, path: Path | Traversable) -> Self:
        """Read the file that `save` wrote.

        Raises:
            CorruptArtifactError: it is not such a file.
        """
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                found = cls(
                    str(arrays["encoder"]),
                    arrays["of_vector"].astype(np.float32),
                    arrays["of_states"].astype(np.float32),
                    arrays["projection"].astype(np.float32),
                )
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise CorruptArtifactError(f"query adapter cannot be read: {path}: {error}") from error
        rows = len(found.of_vector)
        shapes = (found.of_vector.shape, found.of_states.shape, found.projection.shape)
        if shapes != ((rows, rows), (CODE_BITS, CODE_BITS), (rows, CODE_BITS)):
            raise CorruptArtifactError(f"query adapter has matrices of another shape: {path}")
        return found

    def save(self, path: Path) -> None:
        """Write the adapter, numbers with 16 bits; equal adapters give equal bytes."""
        np.savez_compressed(
            path,
            encoder=np.array(self.encoder),
            of_vector=self.of_vector.astype(np.float16),
            of_states=self.of_states.astype(np.float16),
            projection=self.projection.astype(np.float16),
        )

    def for_encoder(self, encoder: Encoder) -> Self:
        """The same adapter for an encoder with the same vectors, in the numbers of its projection.

        Where a late-interaction model makes the codes, tokens are not adapted: it was fitted to other states.
        """
        matrix = encoder.required_projection().matrix
        if encoder.card.has_late_interaction:
            return replace(self, of_states=np.zeros_like(self.of_states), projection=matrix)
        return self.for_projection(matrix)

    def for_projection(self, matrix: NDArray[np.float32]) -> Self:
        """The same adapter in the numbers of another projection [d, CODE_BITS] of the same states.

        A change A of projected states is P A P^T in the states themselves, and Q^T P A P^T Q in the numbers
        of a projection Q.
        """
        turn = self.projection.T @ matrix
        return replace(self, of_states=turn.T @ self.of_states @ turn, projection=matrix)

    def vector(self, unit: NDArray[np.float32]) -> NDArray[np.float32]:
        """The unit vector [d] of a question, adapted; a unit vector."""
        moved = unit + unit @ self.of_vector
        adapted: NDArray[np.float32] = moved / np.linalg.norm(moved)
        return adapted

    def tokens(self, tokens: QueryTokens) -> QueryTokens:
        """The embedding of a question with vector and states adapted."""
        states = tokens.states + tokens.states @ self.of_states
        return replace(tokens, vector=self.vector(tokens.vector), states=states)
