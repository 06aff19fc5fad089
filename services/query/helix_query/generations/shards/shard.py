"""One shard of a process that serves several: its folder, its generations, and how many bytes they take.

`shards` guards the fields that change.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Protocol

from helix_query.generations.snapshot import SnapshotSource
from helix_shared.artifacts.erasures.receipts import RECEIPTS
from helix_shared.artifacts.generation.folders import current_number, folder_of, published_numbers
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.generation.reader import place_of
from helix_shared.errors import CorruptArtifactError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helix_query.generations.replica import Replica
    from helix_shared.shard_map import ShardPlace

DERIVED_BYTES_PER_MEMORY: Final = 160
"""An estimate of what is computed when a generation is loaded: orders, facets, rows."""
_WRITER_FILES: Final = "consolidation/"
"""Files of the writer alone."""


class Loadable(SnapshotSource, Protocol):
    """`generations.current`, which can be started again after it was closed."""

    @property
    def number(self) -> int:
        """Number of the generation that is served; 0: none."""

    @property
    def opening(self) -> int:
        """Number of the generation that is being opened, whose folder must stay; 0: none."""

    @property
    def is_open(self) -> bool:
        """Whether a generation is open, one that is still leased included."""

    def is_refused(self, number: int) -> bool:
        """Whether a generation is not served, although it is here."""

    def retry(self) -> None:
        """Try refused generations again."""

    def start(self, on_first: Callable[[], None], on_tried: Callable[[], None] = ...) -> None:
        """Load the newest generation, and then each later one."""

    def close(self) -> None:
        """Stop serving the generation; leases stay valid."""


class Shard:
    """A shard, loaded or not."""

    def __init__(self, number: int, root: Path, current: Loadable, replica: Replica | None = None) -> None:
        """It is not loaded. `replica` pulls its generations; None: a writer puts them into `root`."""
        self.number = number
        self.current = current
        self.replica = replica
        self.loading: Future[None] | None = None
        """Done once the load was tried; None: it is not loaded and nobody asked for it."""
        self.holds = 0
        """Calls that hold it, so that it is not evicted."""
        self.last_used_at = 0.0
        """When a call last asked for it, by the monotonic clock."""
        self.counted_bytes = 0
        """Bytes counted against the budget; 0 while it is not loaded."""
        self.evicted_bytes = 0
        """Bytes of its evicted generation, counted until the last lease of that has ended."""
        self.place: ShardPlace | None = None
        """What its newest generation says; None: there is none."""
        self.newest: Manifest | None = None
        self.is_closing = False
        self._root = root

    @property
    def is_loaded(self) -> bool:
        """Whether its generation is served, or it is known why none is."""
        return self.loading is not None and self.loading.done()

    @property
    def load_bytes(self) -> int:
        """Bytes that its newest generation takes once it is loaded."""
        return loaded_bytes(self.newest)

    @property
    def is_leased(self) -> bool:
        """Whether it was evicted and calls still read it."""
        return self.is_closing or (self.counted_bytes == 0 and self.current.is_open)

    @property
    def resident_bytes(self) -> int:
        """Bytes that it takes now."""
        return self.counted_bytes + (self.evicted_bytes if self.is_leased else 0)

    def refresh(self) -> bool:
        """Read which generation is current, or served; return whether its shard map changed."""
        before = self.place
        try:
            with self.current.lease() as snapshot:
                manifest, place = snapshot.generation.manifest, snapshot.generation.place
        except TemporaryError:
            try:
                number = current_number(self._root)
                if number is None or (self.newest is not None and self.newest.generation == number):
                    return False
                folder = folder_of(self._root, number)
                manifest = Manifest.read(folder)
                place = place_of(folder, manifest)
            except (CorruptArtifactError, OSError):
                # loading it raises the same error
                return False
        self.newest, self.place = manifest, place
        return before is None or before != place


def loaded_bytes(manifest: Manifest | None) -> int:
    """Bytes that a loaded generation takes: its files, which are mapped, and what is computed from them."""
    if manifest is None:
        return 0
    files = sum(entry.size for entry in manifest.files if not entry.path.startswith(_WRITER_FILES))
    return files + DERIVED_BYTES_PER_MEMORY * manifest.counts.signals


class ReplicaView:
    """What a replica may ask of a shard.

    Of one that is not loaded the two newest generations stay; the newest alone where erasures lie between
    them, because the older one has what was erased. One that is being opened stays until that has ended: a
    large one takes longer than the next ones take to come.
    """

    def __init__(self, root: Path, current: Loadable) -> None:
        self._root = root
        self._current = current
        self._receipts: dict[int, frozenset[str]] = {}

    @property
    def number(self) -> int:
        """Generations before this one may be removed."""
        if self._current.number:
            return self._current.number
        newest, *older = published_numbers(self._root)[:2] or [0]
        kept = older[0] if older and self._is_clean(newest, older[0]) else newest
        opening = self._current.opening
        return min(kept, opening) if opening else kept

    def _is_clean(self, newest: int, older: int) -> bool:
        """Whether nothing was erased between two generations, or the newest cannot be read."""
        try:
            self._receipts = {number: self._receipts_of(number) for number in (older, newest)}
        except CorruptArtifactError:
            return True
        return self._receipts[newest] == self._receipts[older]

    def _receipts_of(self, number: int) -> frozenset[str]:
        """Checksums of the receipts of a generation."""
        if number in self._receipts:
            return self._receipts[number]
        files = Manifest.read(folder_of(self._root, number)).files
        return frozenset(entry.sha256 for entry in files if entry.path.startswith(f"{RECEIPTS}/"))

    @property
    def opening(self) -> int:
        """As `current` says."""
        return self._current.opening

    def is_refused(self, number: int) -> bool:
        """As `current` says."""
        return self._current.is_refused(number)

    def retry(self) -> None:
        """As `current` does."""
        self._current.retry()
