"""Codes of a text's tokens: the signs of their projected states, `TOKEN_CODE_BYTES` a token.

Ingest stores them with a memory; the query service compares the tokens of a question with them. A state is
the model's last hidden state of a token, scaled to length one. The projection is a centre and a matrix that
`helix_cli.model_build` fits once for a model (PCA, then the rotation of ITQ, Gong and Lazebnik 2011). Its
file is part of the model folder, so the model's checksum covers it. Only stored texts are reduced to signs:
the projected numbers of a question are kept, and the product of both estimates that of the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self
from zipfile import BadZipFile

import numpy as np

from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.encoders.tokens import TextTokens

CODE_BITS: Final = 8 * TOKEN_CODE_BYTES
_LEAST_LENGTH: Final = np.float32(1e-12)


@dataclass(frozen=True, slots=True, eq=False)
class TokenProjection:
    """How states of `d` dimensions become codes; immutable and thread-safe."""

    centre: NDArray[np.float32]
    """[d], the mean of unit states."""
    matrix: NDArray[np.float32]
    """[d, CODE_BITS]."""
    coded_ids: NDArray[np.bool_]
    """By token id of the vocabulary: whether such a token gets a code. Special tokens and punctuation do not.
    """

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file that `save` wrote.

        Raises:
            CorruptArtifactError: it is not such a file.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                found = cls(arrays["centre"], arrays["matrix"], arrays["coded_ids"])
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise CorruptArtifactError(f"token projection cannot be read: {path}: {error}") from error
        wanted = (
            (found.centre, 1, np.float32),
            (found.matrix, 2, np.float32),
            (found.coded_ids, 1, np.bool_),
        )
        if any(array.ndim != rank or array.dtype != kind for array, rank, kind in wanted) or (
            found.matrix.shape != (len(found.centre), CODE_BITS)
        ):
            raise CorruptArtifactError(f"token projection has arrays that do not fit together: {path}")
        return found

    def save(self, path: Path) -> None:
        """Write the projection; equal projections give equal bytes."""
        np.savez(path, centre=self.centre, matrix=self.matrix, coded_ids=self.coded_ids)

    def is_coded(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the tokens [n] get a code; an id beyond the vocabulary does not."""
        known = ids < len(self.coded_ids)
        is_coded: NDArray[np.bool_] = known & self.coded_ids[np.where(known, ids, 0)]
        return is_coded

    def codes(self, states: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Codes [n, TOKEN_CODE_BYTES] of states [n, d]; a set bit is a projected number above zero.

        The first bit of the first byte is its most significant one, as `np.unpackbits` reads it.
        """
        return np.packbits(self.queries(states) > 0, axis=1)

    def queries(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """Projected numbers [n, CODE_BITS] of states [n, d]."""
        lengths = np.linalg.norm(states, axis=1, keepdims=True)
        projected: NDArray[np.float32] = (
            states / np.maximum(lengths, _LEAST_LENGTH) - self.centre
        ) @ self.matrix
        return projected


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """The result of one run of the model for a passage; both arrays are read-only."""

    vector: NDArray[np.float32]
    """Unit vector [dimensions]."""
    codes: NDArray[np.uint8] | None
    """[n, TOKEN_CODE_BYTES], in the order of the text; None: not asked for."""

    @property
    def required_codes(self) -> NDArray[np.uint8]:
        """The codes of a run that was asked for them."""
        assert self.codes is not None  # noqa: S101  it was asked for
        return self.codes

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.vector.nbytes + (0 if self.codes is None else self.codes.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class QueryTokens:
    """The result of one run of the model for a question, with one row for each of its coded tokens."""

    vector: NDArray[np.float32]
    """Unit vector [dimensions], as `Encoder.embed_query` gives it."""
    states: NDArray[np.float32]
    """Projected numbers [n, CODE_BITS]."""
    words: NDArray[np.int32]
    """First and last character [n, 2) of the word in `text` that the token is a piece of."""
    text: str
    """The question as it was embedded."""


def words_of_codes(
    tokens: TextTokens,
    projection: TokenProjection,
    text: str,
    count: int,
    prefix: str,
    before: str,
    limit: int,
) -> list[tuple[int, int] | None]:
    """`Encoder.coded_words` of a text after `prefix` and `before`, of which `limit` tokens were embedded."""
    most = limit - tokens.special - tokens.count(prefix)
    ids, words = tokens.all_word_spans(text)
    spans = words[projection.is_coded(ids)]
    others = count - len(spans)
    fits = others >= 0 and others + len(ids) <= most
    # an uncut passage of parts with white space between them has their tokens one after the other
    adds_up = fits and tokens.counts_add_up and not (prefix + before)[-1:].strip()
    if not (adds_up and tokens.count(before) + len(ids) <= most):
        skipped, passage = len(prefix), prefix + before + text
        ids, words = tokens.ids_and_word_spans(passage)
        of_passage = words[projection.is_coded(ids) & (words[:, 0] >= skipped)]
        if len(of_passage) == count:
            spans = of_passage - np.int32(skipped + len(before))
        elif not fits:
            return [None] * count
    found = [(start, end) for start, end in spans.tolist() if start >= 0]
    return [None] * (count - len(found)) + found
