"""Leases of the served snapshot; the end of the last lease on a replaced snapshot closes it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helix_query.generations.snapshot import Snapshot


@dataclass(slots=True)
class _Leased:
    """A snapshot and its number of leases; guarded by the lock of `Leases`."""

    snapshot: Snapshot
    leases: int = 0
    retired: bool = False


class Leases:
    """The served snapshot, and earlier ones that are still leased; thread-safe."""

    def __init__(self) -> None:
        """There is no snapshot yet."""
        self._lock = threading.Lock()
        self._leased: _Leased | None = None
        self._open = 0

    @property
    def snapshot(self) -> Snapshot | None:
        """The served snapshot; None: there is none."""
        leased = self._leased
        return None if leased is None else leased.snapshot

    @property
    def is_open(self) -> bool:
        """Whether a generation is open: that of the snapshot, or of an earlier one that is still leased."""
        return self._open > 0

    @contextmanager
    def lease(self, missing: Callable[[], str]) -> Iterator[Snapshot]:
        """The snapshot, for one request.

        Raises:
            TemporaryError: there is none, with the reason that `missing` gives.
        """
        with self._lock:
            leased = self._leased
            if leased is None:
                raise TemporaryError(missing())
            leased.leases += 1
        try:
            yield leased.snapshot
        finally:
            with self._lock:
                leased.leases -= 1
                last = leased.retired and leased.leases == 0
            if last:
                self._close(leased)

    def replace(self, snapshot: Snapshot | None) -> bool:
        """Serve another snapshot, or none; returns whether one was served before."""
        with self._lock:
            old, self._leased = self._leased, None if snapshot is None else _Leased(snapshot)
            self._open += snapshot is not None
            idle = old is not None and old.leases == 0
            if old is not None:
                old.retired = True
        if old is not None and idle:
            self._close(old)
        return old is not None

    def _close(self, leased: _Leased) -> None:
        leased.snapshot.generation.close()
        with self._lock:
            self._open -= 1
