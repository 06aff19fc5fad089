"""Pulls generations from object storage into the data folder of this replica (ops/decisions/0094).

A thread reads the pointer and takes over what is new; `current` then serves it as any generation of a data
folder. What cannot be pulled is told in the log, in metrics and in GetStatus, and tried again; the last good
generation answers meanwhile. Of several processes with one data folder, one pulls.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from typing import TYPE_CHECKING, Final, Protocol

from helix_query.generations.replica_state import ReplicaState
from helix_query.metrics import REPLICA_DOWNLOADED_BYTES, REPLICA_FAILURES, REPLICA_LAG_SECONDS
from helix_shared.artifacts.generation.folders import current_number, published_numbers
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.pulling import BadPartError, Puller
from helix_shared.errors import CorruptArtifactError, HelixError, InvalidInputError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

    from helix_memory.transport.credentials import NatsCredentials
    from helix_shared.artifacts.object_storage.store import ObjectStore

LONGEST_WAIT_SECONDS: Final = 30.0
"""Longest wait between two attempts after a failure."""
LOCK: Final = "replica.lock"
_WRITERS: Final = ("live", "live.lock")
"""What a writer has in its data folder."""

_log = logger(__name__)


class Serving(Protocol):
    """What `current` tells."""

    @property
    def number(self) -> int:
        """Number of the generation that is served; 0: none."""

    @property
    def opening(self) -> int:
        """Number of the generation that is being opened, whose folder must stay; 0: none."""

    def is_refused(self, number: int) -> bool:
        """Whether a generation is not served, although it is here."""

    def retry(self) -> None:
        """Try refused generations again."""


class Replica:
    """The thread that pulls."""

    def __init__(
        self, store: ObjectStore, root: Path, current: Serving, *, poll_seconds: float, shard: str = ""
    ) -> None:
        """`shard` is that of a process which serves several."""
        self._shard = shard
        self._store = store
        self._root = root
        self._current = current
        self._poll_seconds = poll_seconds
        self._wait_seconds = poll_seconds
        self._problem = ""
        self._behind_since: float | None = None
        self._retired_before = 0
        self._repaired = 0
        self._puller: Puller | None = None
        self._lock = -1
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replica-pull", daemon=True)

    def state(self) -> ReplicaState:
        """What is known now."""
        newest = 0 if self._puller is None else self._puller.newest.generation
        return ReplicaState(self._store.url, newest, self._problem)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread; a request that hangs is left behind."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        self._store.close()

    def step(self) -> None:
        """Pull what is new, and remove what is not served any more.

        Raises: as `Puller.pull`.
        """
        if self._puller is None:
            if not self._has_lock():
                return
            self._puller = Puller(self._store, self._root)
        try:
            number = current_number(self._root)
        except CorruptArtifactError as error:
            _log.warning("newest generation is pulled again", reason=str(error))
            number, self._puller = None, Puller(self._store, self._root)
        if number is not None and number != self._repaired and self._current.is_refused(number):
            self._repaired = number
            if self._puller.repair():
                _log.warning("damaged parts are pulled again", generation=number)
        pulled = self._puller.pull()
        if pulled is not None:
            REPLICA_DOWNLOADED_BYTES.inc(pulled.bytes)
            _log.info("pulled", generation=pulled.manifest.generation, bytes=pulled.bytes)
            if pulled.manifest.generation == self._repaired:
                self._current.retry()
        # in this order: what is being opened may answer a moment later
        opening, served = self._current.opening, self._current.number
        if served > self._retired_before or (served and pulled is not None):
            self._puller.retire(keep=self._kept(served, opening))
            self._retired_before = served

    def _kept(self, served: int, opening: int) -> set[int]:
        """The generation that answers, and of the later ones the two newest and one that is being opened.

        The others were refused, or passed over.
        """
        untried = (*published_numbers(self._root)[:2], opening)
        return {served, *(number for number in untried if number > served)}

    def _run(self) -> None:
        while not self._stop.is_set():
            self.attempt()
            self._stop.wait(self._wait_seconds)

    def attempt(self) -> None:
        """`step`; a failure is told and makes the next wait longer, and never ends the thread."""
        try:
            self.step()
            self._problem, self._wait_seconds = "", self._poll_seconds
        except BaseException as error:  # noqa: BLE001 - whatever a store answers, and a panic of the engine
            self._report_failure(error)
        with contextlib.suppress(CorruptArtifactError):
            self._report_lag()

    def _report_failure(self, error: BaseException) -> None:
        problem = (
            str(error) if isinstance(error, HelixError | OSError) else f"{type(error).__name__}: {error}"
        )
        if problem != self._problem:
            _log.error("generation not pulled", reason=problem)
        self._problem = problem
        if isinstance(error, BadPartError):
            reason = error.kind
        else:
            reason = "manifest" if isinstance(error, CorruptArtifactError) else "store"
        REPLICA_FAILURES.labels(reason).inc()
        self._wait_seconds = min(2 * self._wait_seconds, LONGEST_WAIT_SECONDS)

    def _report_lag(self) -> None:
        is_behind = self._puller is not None and self._puller.newest.generation > (
            current_number(self._root) or 0
        )
        self._behind_since = (self._behind_since or time.monotonic()) if is_behind else None
        lag = 0.0 if self._behind_since is None else time.monotonic() - self._behind_since
        REPLICA_LAG_SECONDS.labels(self._shard).set(lag)

    def _has_lock(self) -> bool:
        """Whether no other process pulls into this folder; the lock ends with the process."""
        if self._lock >= 0:
            return True
        self._root.mkdir(parents=True, exist_ok=True)
        file = os.open(self._root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(file)
            if isinstance(error, BlockingIOError):
                return False
            raise
        self._lock = file
        return True


def open_replica(
    bucket: str,
    root: Path,
    current: Serving,
    *,
    poll_seconds: float,
    credentials: NatsCredentials | None = None,
    shard: str = "",
) -> Replica | None:
    """The replica that pulls into the data folder `root`, not started yet; None without a bucket.

    `credentials` are those for a bucket in NATS.

    Raises:
        InvalidInputError: the data folder belongs to a writer, the address is wrong, or the extra
            `object-storage` is not installed.
    """
    if not bucket:
        return None
    if any((root / name).exists() for name in _WRITERS):
        raise InvalidInputError(
            "HELIX_QUERY_BUCKET", f"{root} is the data folder of a writer: give the replica one of its own"
        )
    store = open_store(bucket, credentials=credentials)
    return Replica(store, root, current, poll_seconds=poll_seconds, shard=shard)
