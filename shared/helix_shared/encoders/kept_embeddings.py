"""Embeddings of fixed texts, kept in a file: the examples of a service are embedded once for each model.

A file that is missing, damaged or cannot be written only costs time.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.machine.whole_file import write_whole
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.encoders.encoder import Encoder

_NAME_DIGITS: Final = 16

_log = logger(__name__)


class KeptEmbeddings:
    """Embeds queries; those in the file are not embedded again. Not thread-safe."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        """Reads the file of the encoder's model in `folder`, if there is one."""
        self._encoder = encoder
        self._path = folder / f"examples-{encoder.card.checksum[:_NAME_DIGITS]}.npz"
        self._kept = _read(self._path, encoder.card.dimensions)
        self._used: dict[str, NDArray[np.float32]] = {}

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Write the file, if it lacks a text or has one that nobody asked for; not after an error."""
        if error is None and self._used.keys() != self._kept.keys():
            _write(self._path, self._used)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query [dimensions], as `Encoder.embed_query` gives it."""
        kept = self._kept.get(text)
        self._used[text] = self._encoder.embed_query(text) if kept is None else kept
        return self._used[text]


def _read(path: Path, dimensions: int) -> dict[str, NDArray[np.float32]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            texts, vectors = file["texts"], file["vectors"]
    except FileNotFoundError:
        return {}
    except Exception as error:  # noqa: BLE001  a damaged archive raises errors of many types
        _log.warning("kept_embeddings_ignored", path=str(path), error=type(error).__name__)
        return {}
    if vectors.dtype != np.float32 or vectors.shape != (len(texts), dimensions):
        return {}
    return dict(zip(texts.tolist(), vectors, strict=True))


def _write(path: Path, vectors: dict[str, NDArray[np.float32]]) -> None:
    content = io.BytesIO()
    np.savez(content, texts=np.array(list(vectors)), vectors=np.stack(list(vectors.values())))
    try:
        write_whole(path, content.getvalue())
    except OSError as error:
        _log.warning("kept_embeddings_not_written", path=str(path), error=str(error))
