"""Vectors and token codes on disk by content and model, so that no text is embedded twice over many runs.

One SQLite file per model checksum. Only the lab's encoder uses it; the query service does not, so its times
are real.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.encoders.token_codes import Embedding
from helix_shared.encoders.vector_cache import text_key

if TYPE_CHECKING:
    from types import TracebackType

WRITE_EVERY: Final = 500
"""Texts between two writes: what a killed run embeds again at most."""
LOCKED_SECONDS: Final = 5.0
"""Time that a write waits for one of another run."""


class VectorStore:
    """A cache of one model's embeddings; a context manager, safe to use from several threads and processes.

    Rows wait in memory and are written together: a transaction that stayed open while texts are embedded
    would keep the file locked for every other run of the lab. Where another run keeps it locked, rows wait
    for the next write. At the end they are left out, and a later run embeds them again.
    """

    def __init__(self, folder: Path, *, model: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._waiting: dict[bytes, tuple[bytes, bytes | None]] = {}
        self._database = sqlite3.connect(
            folder / f"{model}.sqlite", check_same_thread=False, timeout=LOCKED_SECONDS
        )
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS embeddings"
            " (text BLOB PRIMARY KEY, vector BLOB, codes BLOB) WITHOUT ROWID"
        )

    def get(self, text: str) -> Embedding | None:
        """The embedding of `text`, read-only; None if there is none."""
        key = text_key(text)
        with self._lock:
            row = (
                self._waiting.get(key)
                or self._database.execute(
                    "SELECT vector, codes FROM embeddings WHERE text = ?", (key,)
                ).fetchone()
            )
        if row is None:
            return None
        vector, codes = row
        found = None if codes is None else np.frombuffer(codes, np.uint8).reshape(-1, TOKEN_CODE_BYTES)
        return Embedding(np.frombuffer(vector, "<f4"), found)

    def put(self, text: str, embedding: Embedding) -> None:
        """Store `embedding`; one without codes does not replace one with codes."""
        codes = None if embedding.codes is None else embedding.codes.tobytes()
        row = (embedding.vector.astype("<f4").tobytes(), codes)
        with self._lock:
            if codes is None:
                self._waiting.setdefault(text_key(text), row)
            else:
                self._waiting[text_key(text)] = row
            if len(self._waiting) % WRITE_EVERY == 0:
                self._write()

    def close(self) -> None:
        """Write what waits, and close."""
        with self._lock:
            self._write()
            self._database.close()

    def _write(self) -> None:
        """Write what waits in one transaction, unless another run keeps the file locked; the lock is held."""
        rows = [(key, *row) for key, row in self._waiting.items()]
        with_codes = [row for row in rows if row[2] is not None]
        without = [row for row in rows if row[2] is None]
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", with_codes)
                self._database.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?, ?)", without)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            return
        self._waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
