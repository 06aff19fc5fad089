"""Uploads every published generation in a thread of its own, and collects what the bucket does not keep.

It reads CURRENT as a reader does, so the writer never waits for it: a bucket that is slow or away delays
replicas alone. A thread is enough, because requests and copies run outside the interpreter's lock. It lives
as long as the lease; one that hangs is left behind, and the epoch fences what it may still do.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

from helix_consolidation.metrics import (
    BUCKET_FAILURES,
    BUCKET_GENERATION,
    BUCKET_LAG_SECONDS,
    BUCKET_PARTS,
    BUCKET_UPLOADED_BYTES,
)
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.object_storage.canary import prove_preconditions
from helix_shared.artifacts.object_storage.collecting import Collector
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.uploading import FencedError, Uploader
from helix_shared.errors import HelixError, TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from helix_consolidation.settings import ConsolidationSettings

CHECK_SECONDS: Final = 0.1
"""Time between two looks at CURRENT."""
LONGEST_WAIT_SECONDS: Final = 30.0
"""Longest wait between two attempts after a failure; the first is a second."""
CLOSE_SECONDS: Final = 2.0

_log = logger(__name__)


class UploadThread:
    """The uploads under one lease. A context manager."""

    def __init__(self, settings: ConsolidationSettings) -> None:
        """Prove that the store honours preconditions; one that does not answer now is asked again later.

        Raises:
            PermanentError: it ignores them, so that a lost writer would not be fenced.
            InvalidInputError: its address or a setting of its environment is wrong.
        """
        self._root = settings.data_dir
        self._store = open_store(settings.own_bucket, credentials=settings.nats_credentials)
        self._is_proven = False
        grace = settings.bucket_grace_seconds
        self._uploader = Uploader(self._store, self._root, grace_seconds=grace)
        self._collector = Collector(self._store, keep=settings.bucket_keep_generations, grace_seconds=grace)
        self._collect_seconds = settings.bucket_collect_seconds
        self._collect_at = time.monotonic()
        self._wait_seconds = CHECK_SECONDS
        self._erased_before = 0
        self._clean_before = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upload", daemon=True)
        try:
            self._check_preconditions()
        except TemporaryError as error:
            self._failed(error)

    def erase_before(self, generation: int) -> None:
        """Remove all generations with a lower number from the bucket as soon as it has this one."""
        self._erased_before = max(self._erased_before, generation)

    def is_clean_before(self, generation: int) -> bool:
        """Whether the bucket holds nothing of any generation with a lower number."""
        return self._clean_before >= generation

    def step(self) -> None:
        """Upload and collect once, if something is due.

        Raises: as `Uploader.upload`.
        """
        self._check_preconditions()
        self._report_lag()
        uploaded = self._uploader.upload()
        if uploaded is not None:
            BUCKET_UPLOADED_BYTES.inc(uploaded.bytes)
            BUCKET_PARTS.labels("uploaded").inc(uploaded.parts)
            BUCKET_PARTS.labels("skipped").inc(uploaded.skipped)
            _log.info(
                "uploaded",
                generation=uploaded.manifest.generation,
                bytes=uploaded.bytes,
                parts=uploaded.parts,
                skipped=uploaded.skipped,
            )
        self._uploader.tell("")
        self._report_lag()
        if time.monotonic() >= self._collect_at or self._is_erasing:
            self._collect_at = time.monotonic() + self._collect_seconds
            self._collect()

    def close(self) -> None:
        """End the thread; what it is in the middle of is done again by the next writer."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)
        self._store.close()

    @property
    def _is_erasing(self) -> bool:
        """Whether older generations are to be removed now: the bucket has what replaced them."""
        pointed = self._uploader.pointed
        return (
            self._clean_before < self._erased_before
            and pointed is not None
            and pointed.manifest.generation >= self._erased_before
        )

    def _check_preconditions(self) -> None:
        if not self._is_proven:
            prove_preconditions(self._store)
            self._is_proven = True

    def _collect(self) -> None:
        pointed = self._uploader.pointed
        if pointed is None:
            return
        if self._uploader.repair():
            _log.warning("bucket lost pointer or manifest", generation=pointed.manifest.generation)
        erased_before = self._erased_before if self._is_erasing else 0
        found = self._collector.collect(pointed, erased_before=erased_before)
        if found is None:
            return
        self._uploader.forget(found.parts)
        BUCKET_PARTS.labels("collected").inc(len(found.parts))
        if found.manifests or found.parts:
            _log.info("collected", manifests=found.manifests, parts=len(found.parts), bytes=found.bytes)
        if erased_before:
            self._clean_before = max(self._clean_before, erased_before)
        if found.missing:
            restored = self._uploader.restore_parts(found.missing)
            BUCKET_PARTS.labels("restored").inc(restored)
            _log.warning("bucket lost parts", missing=len(found.missing), restored=restored)

    def _run(self) -> None:
        while not self._stop.wait(self._wait_seconds):
            self.attempt()

    def attempt(self) -> None:
        """`step`; a failure is told and makes the next wait longer, and never ends the thread."""
        try:
            self.step()
            self._wait_seconds = CHECK_SECONDS
        except BaseException as error:  # noqa: BLE001 - whatever a store answers, and a panic of the engine
            self._wait_seconds = min(max(1.0, 2 * self._wait_seconds), LONGEST_WAIT_SECONDS)
            try:
                self._failed(error)
            except Exception as second:  # noqa: BLE001 - the disk may be full, the generation be retired
                _log.error("failure of an upload not recorded", reason=str(second))

    def _failed(self, error: BaseException) -> None:
        """Log what is new, and tell it in the record; nothing after `close`, when the next thread tells."""
        if self._stop.is_set():
            return
        problem = (
            str(error) if isinstance(error, HelixError | OSError) else f"{type(error).__name__}: {error}"
        )
        if problem != self._uploader.record.problem:
            _log.error("generation not uploaded", reason=problem)
        reason = "store" if isinstance(error, TemporaryError) else "refused"
        BUCKET_FAILURES.labels("fenced" if isinstance(error, FencedError) else reason).inc()
        self._uploader.tell(problem)
        self._report_lag()

    def _report_lag(self) -> None:
        pointed, number = self._uploader.pointed, current_number(self._root)
        uploaded = 0 if pointed is None else pointed.manifest.generation
        BUCKET_GENERATION.set(uploaded)
        if number is None or number <= uploaded:
            BUCKET_LAG_SECONDS.set(0)
        elif (folder := folder_of(self._root, number)).is_dir():
            published_at = Manifest.read(folder).published_at
            BUCKET_LAG_SECONDS.set(max(0.0, (datetime.now(UTC) - published_at).total_seconds()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
