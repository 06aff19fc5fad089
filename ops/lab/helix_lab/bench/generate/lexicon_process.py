"""The lexicon of a large build, written by a separate process beside the other three stores.

tantivy's documents are made in Python, which costs as much as all other work of `load`: with two cores a
build takes half the time.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa

from helix_shared.artifacts.generation.folders import LEXICON
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter, entries_of
from helix_shared.machine.processes import end_with_parent

if TYPE_CHECKING:
    from pathlib import Path

    from helix_shared.artifacts.generation.live_stores import Live

COLUMNS: Final = (*LexiconEntry.__slots__, "hidden")
"""Columns of a record that the lexicon reads."""
WAITING: Final = 3
"""Batches in flight at most, which bounds memory."""


class LexiconProcess:
    """Replaces `live.lexicon` during a build; a context manager for one thread."""

    def __init__(self, live: Live, folder: Path) -> None:
        """`live` lies in `folder`; its lexicon is empty."""
        self._live = live
        self._folder = folder / LEXICON
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> Self:
        self._live.lexicon.commit()
        self._live.lexicon.close()
        self._pool = ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), initializer=_open, initargs=(self._folder,)
        )
        return self

    def upsert(self, records: pa.Table) -> None:
        """Queue the records for indexing."""
        while len(self._waiting) >= WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(_upsert, records.select(COLUMNS)))

    def __exit__(self, *_: object) -> None:
        """Wait for the process; what it wrote is committed, and `live` has its lexicon again."""
        try:
            while self._waiting:
                self._waiting.popleft().result()
            self._pool.submit(_close).result()
        finally:
            self._pool.shutdown(cancel_futures=True)
        self._live.lexicon = LexiconWriter.open(self._folder)


_WRITER: Final[list[LexiconWriter]] = []
"""The one writer of the process."""


def _open(folder: Path) -> None:
    end_with_parent()
    _WRITER.append(LexiconWriter.open(folder))


def _upsert(records: pa.Table) -> None:
    _WRITER[0].upsert(entries_of(records))


def _close() -> None:
    _WRITER[0].commit()
    _WRITER[0].close()
