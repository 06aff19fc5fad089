"""Which process may write: a lease in NATS, and an operating system lock on the data folder.

The lease is one key in a bucket whose entries expire. The process that creates it, or takes it over by
compare-and-set, is the writer; the revision of that first write is the fencing epoch in every manifest.
`standby` keeps epochs ascending when the bucket is created again. The lease is renewed every third of its
time to live. A writer that could not renew in time stops by its own clock, which started before the server's,
so it stops first.

The folder lock ends with its process, however that ends. Its holder knows that no other writer uses this
folder, so it takes over a lease that names the same lock at once: a killed writer is replaced within a
second.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.broker import streams
from helix_shared.errors import HelixError
from helix_shared.json_object import json_object
from helix_shared.machine.processes import machine
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.js.kv import KeyValue

HOLDER: Final = "holder"
PROBLEM: Final = streams.WRITER_PROBLEM
LOCK_NAME: Final = "live.lock"
SAFE_SHARE: Final = 0.8
"""Share of the time to live after which an unrenewed lease counts as lost."""

_log = logger(__name__)


class LostLeaseError(HelixError):
    """Another writer may be active; nothing more may be published."""


class FolderLock:
    """Advisory lock on `<folder>/live.lock`, held while the process lives or until `release`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LOCK_NAME
        self._file: int | None = None

    @property
    def identity(self) -> str:
        """Name of this lock file on this machine; equal for two processes that would exclude each other."""
        status = self._path.stat()
        return f"{machine()}:{status.st_dev}:{status.st_ino}"

    def acquire(self) -> bool:
        """Take the lock if it is free; never waits."""
        if self._file is not None:
            return True
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Release the lock; may be called again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Lease:
    """The right to publish; `epoch` is larger for every later holder."""

    def __init__(
        self, bucket: KeyValue, key: str, claim: dict[str, str], revision: int, *, ttl_seconds: float
    ) -> None:
        self._bucket = bucket
        self._key = key
        self._claim = claim
        self._revision = revision
        self._ttl_seconds = ttl_seconds
        self._renewed = time.monotonic()
        self._lost = False
        self._renewing = asyncio.Lock()
        self.epoch = revision

    @classmethod
    async def acquire(cls, bucket: KeyValue, *, lock_identity: str, shard: int = 0) -> Self | None:
        """The lease of a shard, or None while another process holds it.

        The caller must hold the folder lock `lock_identity`. The time to live is the bucket's own.
        """
        ttl_seconds = (await bucket.status()).ttl or streams.LEASE_TTL_SECONDS
        claim = {HOLDER: uuid.uuid4().hex, "lock": lock_identity, PROBLEM: ""}
        key, value = streams.writer_key(shard), _encoded(claim)
        requested = time.monotonic()
        try:
            revision = await bucket.create(key, value)
        except KeyWrongLastSequenceError:
            taken = await _take_over(bucket, key, value, lock_identity)
            if taken is None:
                return None
            revision = taken
        lease = cls(bucket, key, claim, revision, ttl_seconds=ttl_seconds)
        lease._renewed = requested
        return lease

    @property
    def renew_seconds(self) -> float:
        """Time between two renewals."""
        return self._ttl_seconds / 3

    @property
    def is_held(self) -> bool:
        """Whether no other process can have the lease yet."""
        return not self._lost and time.monotonic() - self._renewed < self._ttl_seconds * SAFE_SHARE

    def ensure_held(self) -> None:
        """Raise unless the lease is held.

        Raises:
            LostLeaseError: it was taken over, or could not be renewed in time.
        """
        if not self.is_held:
            raise LostLeaseError(f"lease {self._key} of epoch {self.epoch} is lost")

    async def renew(self) -> None:
        """Extend the lease by compare-and-set.

        While the server is away the lease counts as held until its time runs out.

        Raises:
            LostLeaseError: another process has it, or its time ran out.
        """
        async with self._renewing:
            await self._renew()
        self.ensure_held()

    async def _renew(self) -> None:
        requested = time.monotonic()
        try:
            self._revision = await self._extended()
            self._renewed = requested
        except KeyWrongLastSequenceError:
            self._lost = True
        except UNANSWERED as error:
            _log.warning("lease not renewed", reason=reason_of(error))

    async def renew_until(self, over: asyncio.Event) -> None:
        """Renew it whenever that is due, until `over` is set.

        Raises: as `renew`.
        """
        # an event, because nats-py may swallow a cancellation
        while not over.is_set():
            try:
                await asyncio.wait_for(over.wait(), self.renew_seconds)
            except TimeoutError:
                await self.renew()

    async def release(self) -> None:
        """Free the lease for the next process; on failure it expires."""
        if self.is_held:
            self._lost = True
            try:
                await self._bucket.delete(self._key, last=self._revision)
            except UNANSWERED as error:
                _log.warning("lease not released", reason=reason_of(error))

    async def report(self, problem: str) -> None:
        """State in the lease why the writer is blocked, for `helix status`; empty: it is not.

        Raises: as `renew`.
        """
        self._claim[PROBLEM] = problem
        await self.renew()

    async def _extended(self) -> int:
        value = _encoded(self._claim)
        try:
            return await self._bucket.update(self._key, value, last=self._revision)
        except KeyWrongLastSequenceError:
            # an own renewal whose reply was lost changed the revision as well
            try:
                entry = await self._bucket.get(self._key)
            except KeyNotFoundError:
                raise KeyWrongLastSequenceError from None
            if json_object(entry.value).get(HOLDER) != self._claim[HOLDER]:
                raise
            return await self._bucket.update(self._key, value, last=entry.revision)


async def _take_over(bucket: KeyValue, key: str, value: bytes, lock_identity: str) -> int | None:
    try:
        entry = await bucket.get(key)
        if json_object(entry.value).get("lock") != lock_identity or entry.revision is None:
            return None
        return await bucket.update(key, value, last=entry.revision)
    except (KeyNotFoundError, KeyWrongLastSequenceError):
        return None


def _encoded(claim: dict[str, str]) -> bytes:
    return json.dumps(claim).encode()
