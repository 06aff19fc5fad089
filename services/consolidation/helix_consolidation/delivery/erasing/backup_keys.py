"""Destroys keys of backups, so that no earlier backup shows what was erased.

A backup holds the keys until it is whole. An erasure that comes meanwhile waits, and tries again. The writers
of all shards share the keys, so a tenant that is moved to another shard keeps its own.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_shared.keys.key_store import KEYS, KeyStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from helix_shared.keys.key_store import Range

_WAIT_SECONDS: Final = 0.5
"""The writer of another shard has the keys for milliseconds; a backup has them for longer."""


class KeyedEvent(NamedTuple):
    """An event of the log, and whose key it is under."""

    subject: str
    owner: str


class BackupKeys:
    """The keys in a data folder; none is held between two calls.

    Every method raises TemporaryError while a backup runs, CorruptArtifactError where the store is damaged.
    """

    def __init__(self, data: Path) -> None:
        self._folder = data / KEYS

    async def destroy(self, events: Mapping[int, KeyedEvent]) -> None:
        """Destroy the keys of events by sequence."""
        erased: defaultdict[str, list[Range]] = defaultdict(list)
        for sequence, keyed in events.items():
            erased[keyed.owner].append((sequence, sequence))
        if erased:
            await asyncio.to_thread(self._destroy, erased)

    async def destroy_user(self, owner: str, *, before: int) -> None:
        """Destroy a user's key for all events below a sequence, also for those that the log lost earlier."""
        await asyncio.to_thread(self._destroy, {owner: [(0, before - 1)]})

    async def replace_state_key(self) -> None:
        """Destroy the key of generations and copies of streams in backups."""
        await asyncio.to_thread(self._replace_state_key)

    def _destroy(self, erased: Mapping[str, Sequence[Range]]) -> None:
        with KeyStore.held(self._folder, wait_seconds=_WAIT_SECONDS) as keys:
            keys.destroy(erased)

    def _replace_state_key(self) -> None:
        with KeyStore.held(self._folder, wait_seconds=_WAIT_SECONDS) as keys:
            keys.replace_state_key()
