"""The generation that is served, and the swap to the next one.

A thread polls CURRENT. A new generation is verified while a process of its own probes it, opened and warmed,
then swapped in between two requests. A request leases one generation from start to end; an old one is closed
when its last lease ends. A bad generation is refused and counted; the newest good one between it and the one
that answers is served, else that one keeps answering. At the start older ones are tried, also where CURRENT
holds no number. Neither number nor epoch ever decreases.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import wait
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from helix_query.generations.installed_model import InstalledEncoders
from helix_query.generations.learned_adapters import LearnedAdapters
from helix_query.generations.leases import Leases
from helix_query.generations.prober import Prober
from helix_query.generations.refusals import Refusals
from helix_query.generations.verified_files import VerifiedFiles
from helix_query.generations.warmup import warm
from helix_query.metrics import GENERATIONS_REJECTED, PROBE_SECONDS, SERVING_DELAY_SECONDS, SWAP_SECONDS
from helix_query.recall.routing.centroids import centroids_of
from helix_query.scheduling.progress import Progress
from helix_shared.artifacts.generation.folders import current_number, folder_of, published_numbers
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import CorruptArtifactError
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import report_generation

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_shared.encoders.cross_encoder import CrossEncoder
    from helix_shared.encoders.encoder import Encoder

SERVICE: Final = "query"

_log = logger(__name__)


class CurrentGeneration:
    """The generation that is served; any thread may lease it."""

    def __init__(
        self,
        root: Path,
        models: Path | InstalledEncoders,
        *,
        scratch: Path,
        profile: RankingProfile,
        poll_seconds: float = 0.25,
        verified_files: Path | None = None,
        cache: Path | None = None,
        cross_encoders: Mapping[str, CrossEncoder] = MappingProxyType({}),
        prober: Prober | None = None,
        shard: int | None = None,
    ) -> None:
        """No generation is loaded yet.

        `models` is the folder of installed models, or what several shards load their encoder with.
        `scratch` is a folder for links to held files. Files that `verified_files` lists are not hashed again.
        `cache` keeps what is made once for a model.
        `cross_encoders` are those that ranking profiles name. Without a `prober` nothing is probed.
        `shard` is the one that generations must be of, in a process that serves several.
        """
        self._prober = prober
        self._shard = shard
        self._root = root
        self._encoders = models if isinstance(models, InstalledEncoders) else InstalledEncoders(models)
        # `encoders` keeps none by itself: that of a shard that was given up stays loaded
        self._encoder: Encoder | None = None
        self._last = 0, 0
        self._opening = 0
        self._scratch = scratch
        self._profile = profile
        self._poll_seconds = poll_seconds
        self.progress = Progress()
        self.cross_encoders = cross_encoders
        self._learned_adapters = LearnedAdapters(root)
        self._on_first: Callable[[], None] = lambda: None
        self._on_tried: Callable[[], None] = lambda: None
        self._leases = Leases()
        self._verified_files = VerifiedFiles(verified_files)
        self._cache = cache
        self._refusals = Refusals(root)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def number(self) -> int:
        """Number of the generation that is served; 0: none."""
        snapshot = self._leases.snapshot
        return 0 if snapshot is None else snapshot.number

    @property
    def opening(self) -> int:
        """Number of the generation that is being opened, whose folder must stay; 0: none."""
        return self._opening

    def is_refused(self, number: int) -> bool:
        """Whether a generation is not served, although it is here."""
        return self._refusals.is_refused(number)

    def retry(self) -> None:
        """Try refused generations again: their files were replaced."""
        self._refusals.clear()

    @property
    def is_open(self) -> bool:
        """Whether a generation is open: the one that answers, or an earlier one that is still leased."""
        return self._leases.is_open

    def start(
        self, on_first: Callable[[], None] = lambda: None, on_tried: Callable[[], None] = lambda: None
    ) -> None:
        """Start the thread, also again after `close`.

        It calls `on_first` when the first generation answers, and `on_tried` after each look at CURRENT.
        """
        self._on_first, self._on_tried = on_first, on_tried
        self._stop.clear()
        self._thread = threading.Thread(target=self._poll, name="generation-poll", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and stop serving; existing leases stay valid."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._swap(None)

    def lease(self) -> AbstractContextManager[Snapshot]:
        """The current snapshot, for one request.

        Raises:
            TemporaryError: there is none yet.
        """
        return self._leases.lease(self._refusals.reason)

    def refresh(self) -> bool:
        """Read CURRENT once; return whether another generation, the newest sound one, was swapped in.

        Raises:
            CorruptArtifactError: CURRENT is damaged, and a generation answers, or none on the disk is sound.
        """
        served = self.number
        try:
            newest = current_number(self._root)
        except CorruptArtifactError:
            if not served and self._adopt_newest(published_numbers(self._root)):
                return True
            raise
        if newest is None or newest <= served:
            return False
        numbers = published_numbers(self._root, up_to=newest)
        if served and newest not in numbers:
            return False
        return self._adopt_newest(number for number in numbers if number > served)

    def _adopt_newest(self, numbers: Iterable[int]) -> bool:
        """Serve the first of `numbers` that is sound; whether there is one.

        None is older than the one that answered before a shard was given up.
        """
        return any(self._adopt(number) for number in numbers if number >= self._last[0])

    def _poll(self) -> None:
        failure = ""
        while not self._stop.is_set():
            try:
                self.refresh()
                failure = ""
            except Exception as error:  # noqa: BLE001 - the thread must outlive whatever a folder holds
                if failure != str(error):
                    failure = str(error)
                    if isinstance(error, CorruptArtifactError):
                        GENERATIONS_REJECTED.labels("damaged").inc()
                    _log.error("generation_poll_failed", error=type(error).__name__, reason=failure)
            self._on_tried()
            self._stop.wait(self._poll_seconds)

    def _adopt(self, number: int) -> bool:
        if self._refusals.is_refused(number):
            return False
        began, self._opening = time.monotonic(), number
        try:
            snapshot = self._load(number)
        except BaseException as error:  # noqa: BLE001 - a panic of a Rust engine is a BaseException
            self._refusals.refuse(number, error)
        else:
            self._swap(snapshot)
            SWAP_SECONDS.observe(time.monotonic() - began)
            return True
        finally:
            self._opening = 0
        return False

    def _load(self, number: int) -> Snapshot:
        """Open, verify and warm a generation.

        Raises:
            CorruptArtifactError: it is damaged, or its epoch is before the current one.
            NotFoundError: its model is not installed.
        """
        previous = self._leases.snapshot
        with self._probed(number):
            folder = folder_of(self._root, number)
            manifest = self._verified_files.verify(folder, beside=previous is not None)
            if manifest.epoch < self._last[1]:
                raise CorruptArtifactError(
                    f"generation {number} has epoch {manifest.epoch}, before the current one"
                )
            encoder = self._encoders.of(manifest)
            # about a second for a new model, while the prober imports the engines
            centroids_of(encoder, cache=self._cache)
        # ordinals and rows of stores that were built anew mean something else
        kin = previous
        if previous is not None and previous.generation.manifest.origin != manifest.origin:
            kin = None
        generation = Generation.open(
            self._root,
            number,
            manifest=manifest,
            previous=None if kin is None else kin.generation,
            scratch=self._scratch,
        )
        try:
            self._require_shard(generation)
            return warm(
                generation,
                encoder,
                profile=self._profile,
                now=datetime.now(UTC),
                at_start=previous is None or previous.encoder is not encoder,
                previous_order=None if kin is None else kin.session_order,
                previous_times=None if kin is None else kin.time_order.made,
                authors=None if kin is None else kin.authors,
                cross_encoders=self.cross_encoders,
                learned_adapters=self._learned_adapters,
            )
        except BaseException:
            generation.close()
            raise

    @contextmanager
    def _probed(self, number: int) -> Iterator[None]:
        """The prober opens the generation beside the block; it has when the block is left.

        Raises: what the block raises, else as `Prober.check`.
        """
        if self._prober is None or number == self._last[0]:
            # it was served by this process before
            yield
            return
        probe = self._prober.begin(self._root, number)
        try:
            yield
        except BaseException:
            wait([probe])
            raise
        PROBE_SECONDS.observe(probe.result())

    def _require_shard(self, generation: Generation) -> None:
        found = generation.place.shard
        if self._shard is not None and found != self._shard:
            raise CorruptArtifactError(f"{self._root} is of shard {found}, not of shard {self._shard}")

    def _swap(self, snapshot: Snapshot | None) -> None:
        replaced = self._leases.replace(snapshot)
        if snapshot is not None:
            self._refusals.clear()
            manifest = snapshot.generation.manifest
            self._last, self._encoder = (manifest.generation, manifest.epoch), snapshot.encoder
            recallable = manifest.counts.recallable
            if self._shard is None:
                report_generation(SERVICE, manifest, memories=recallable)
            if replaced:
                SERVING_DELAY_SECONDS.observe((datetime.now(UTC) - manifest.published_at).total_seconds())
            _log.info("generation_served", generation=snapshot.number, memories=recallable)
            # After the swap, so that the woken calls lease the new generation.
            self.progress.advance(manifest.applied_sequence)
            if not replaced:
                self._on_first()
