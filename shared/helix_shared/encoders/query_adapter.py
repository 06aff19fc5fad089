"""A query adapter: moves the embedding of a question nearer to those of the memories that answer it.

A question and the statement that answers it are different kinds of sentences, and an encoder that was not
trained on memories keeps them apart. The adapter is two matrices that are added to the identity, one for the
vector and one for the projected states of the tokens; memories stay as they are, so nothing is embedded
again. It was fitted for one model (`helix-lab adapter`) and is of no use for another.
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

    from helix_shared.encoders.token_codes import QueryTokens


@dataclass(frozen=True, slots=True, eq=False)
class QueryAdapter:
    """Immutable and thread-safe."""

    model: str
    """Checksum of the model it was fitted for."""
    of_vector: NDArray[np.float32]
    """[d, d]; zeros change nothing."""
    of_states: NDArray[np.float32]
    """[CODE_BITS, CODE_BITS]; zeros change nothing."""

    @classmethod
    def load(cls, path: Path | Traversable) -> Self:
        """Read the file that `save` wrote.

        Raises:
            CorruptArtifactError: it is not such a file.
        """
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                found = cls(
                    str(arrays["model"]),
                    arrays["of_vector"].astype(np.float32),
                    arrays["of_states"].astype(np.float32),
                )
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise CorruptArtifactError(f"query adapter cannot be read: {path}: {error}") from error
        rows = len(found.of_vector)
        if found.of_vector.shape != (rows, rows) or found.of_states.shape != (CODE_BITS, CODE_BITS):
            raise CorruptArtifactError(f"query adapter has matrices of another shape: {path}")
        return found

    def save(self, path: Path) -> None:
        """Write the adapter, numbers with 16 bits; equal adapters give equal bytes."""
        np.savez_compressed(
            path,
            model=np.array(self.model),
            of_vector=self.of_vector.astype(np.float16),
            of_states=self.of_states.astype(np.float16),
        )

    def vector(self, unit: NDArray[np.float32]) -> NDArray[np.float32]:
        """The unit vector [d] of a question, adapted; a unit vector."""
        moved = unit + unit @ self.of_vector
        adapted: NDArray[np.float32] = moved / np.linalg.norm(moved)
        return adapted

    def tokens(self, tokens: QueryTokens) -> QueryTokens:
        """The embedding of a question with vector and states adapted."""
        states = tokens.states + tokens.states @ self.of_states
        return replace(tokens, vector=self.vector(tokens.vector), states=states)
