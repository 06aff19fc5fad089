"""Purges one shard: removes erased data from the live files, older generations, and their copies elsewhere.

A purge is part of a publication, and takes from half a second to minutes. So what is erased leaves the
answers one generation before its bytes leave the stores, and erasures that follow each other are purged
together. The state says that a purge is due, so a restart continues it.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, Protocol

from helix_shared.artifacts.generation.folders import published_numbers
from helix_shared.artifacts.generation.retiring import retire

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_shared.artifacts.generation.live_stores import Live

MOST_PURGED_FIRST: Final = 1_000
"""With more memories, the generation that first lacks what was erased is published without a purge."""

WAITS_SECONDS: Final = 10.0
"""Longest time that a purge waits because every generation lacks something more than the one before."""


class UploadedGenerations(Protocol):
    """The generations of one data folder that `uploading` has put into object storage."""

    def erase_before(self, generation: int) -> None:
        """Remove those with a lower number, in the background."""

    def is_clean_before(self, generation: int) -> bool:
        """Whether none of them is left."""


class Purge:
    """Tracks which files of the data folder `root`, and which copies of them, may still hold erased data."""

    def __init__(self, root: Path, state: ConsolidationState) -> None:
        self._root = root
        self._state = state
        self._uploaded: UploadedGenerations | None = None
        # a writer that ended before the purge left the rest of it to this one
        self.is_due = self._is_delayed = state.erasures.has_unpurged
        """Whether the live files may hold bytes of what was erased or replaced."""
        self._has_new = False
        """Whether the next generation is the first one without something that was erased."""
        self._memories_before = state.ledger.memories
        """Of the last generation: a purge goes through their files even if few are left."""
        self._waits_since = math.inf
        """When the first generation without what is not purged yet was published, by the monotonic clock."""

    @property
    def has_work(self) -> bool:
        """Whether a generation is due because of an erasure, although no message changed anything."""
        erasures = self._state.erasures
        are_copies_gone = erasures.awaits_old_generations and self._is_everywhere_retired
        return self._is_delayed or are_copies_gone or any(one.is_changed for one in erasures.open.values())

    def note_removed(self) -> None:
        """Record that something was removed; a generation without it is published before the purge."""
        self.is_due = self._has_new = True

    def run(self, live: Live, number: int) -> bool:
        """Purge if it is time for that, before generation `number` is published; returns whether it did.

        Records what this generation holds no more.
        """
        erasures = self._state.erasures
        is_small = max(self._state.ledger.memories, self._memories_before) <= MOST_PURGED_FIRST
        is_overdue = time.monotonic() - self._waits_since >= WAITS_SECONDS
        is_purged = self.is_due and (not self._has_new or is_small or is_overdue)
        if is_purged:
            live.purge()
            self._state.erasure_generation = number
        if is_purged or not self.is_due:
            # an erasure that reached no memory has nothing to purge
            erasures.mark_stores_clean(number)
        erasures.is_unpurged = self.is_due and not is_purged
        erasures.mark_copies_clean(number, is_retired=self._is_everywhere_retired)
        return is_purged

    def published(self) -> None:
        """The generation of the last `run` is published."""
        erasures = self._state.erasures
        erasures.published()
        self.is_due = self._is_delayed = erasures.is_unpurged
        self._has_new = False
        self._memories_before = self._state.ledger.memories
        self._waits_since = min(self._waits_since, time.monotonic()) if self.is_due else math.inf
        self._erase_uploaded()

    def attach(self, uploaded: UploadedGenerations | None) -> None:
        """Name the copies of generations elsewhere, which erasures reach, too."""
        self._uploaded = uploaded
        self._erase_uploaded()

    def retire(self, *, now: datetime, keep: int, min_age_seconds: float) -> list[int]:
        """Remove old generations; after an erasure all older ones, at once."""
        if self._is_retired:
            return retire(self._root, now=now, keep=keep, min_age_seconds=min_age_seconds)
        # readers hold the files of their generation open
        removed = retire(self._root, now=now, keep=1, min_age_seconds=-math.inf)
        self._state.erasures.count_everywhere("generations", len(removed))
        return removed

    def _erase_uploaded(self) -> None:
        if self._uploaded is not None and self._state.erasures.may_be_in_old_generations:
            self._uploaded.erase_before(self._state.erasure_generation)

    @property
    def _is_everywhere_retired(self) -> bool:
        generation = self._state.erasure_generation
        return self._is_retired and (self._uploaded is None or self._uploaded.is_clean_before(generation))

    @property
    def _is_retired(self) -> bool:
        """Whether no generation of before the last purge is left."""
        return min(published_numbers(self._root), default=0) >= self._state.erasure_generation
