"""The encoder of the model that made a generation, found among the installed ones by its checksum."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import model_folders
from helix_shared.errors import NotFoundError, PermanentError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_shared.artifacts.generation.manifest import Manifest


class InstalledEncoders:
    """The encoders of a process: shards of one model share one, for as long as a shard keeps it."""

    def __init__(self, models: Path, *, threads: int = 1) -> None:
        self._models = models
        self._threads = threads
        self._loaded = WeakValueDictionary[str, Encoder]()
        self._lock = threading.Lock()

    def of(self, manifest: Manifest) -> Encoder:
        """The encoder of queries to a generation; raises as `installed_encoder`."""
        with self._lock:
            found = self._loaded.get(manifest.model.checksum)
            if found is None:
                found = installed_encoder(manifest, self._models, threads=self._threads)
                self._loaded[manifest.model.checksum] = found
            return found


def installed_encoder(manifest: Manifest, models: Path, *, threads: int = 1) -> Encoder:
    """Load the encoder of queries of a generation; tenants share it, so it remembers no query.

    Raises:
        NotFoundError: the model is not installed under `models`, or cannot be used; says why.
    """
    wanted, unusable = manifest.model, []
    for folder in model_folders(models):
        try:
            if read_card(folder).checksum == wanted.checksum:
                return Encoder.load(
                    folder, lanes=1, threads_per_lane=threads, remembers=False, embeds_passages=False
                )
        except PermanentError as error:
            # not logged: the service tries at every poll, and tells the reason of a refusal once
            unusable.append(str(error))
    missing = f"not installed under {models}"
    if unusable:
        missing = f"of which no usable copy is under {models} ({'; '.join(unusable)})"
    raise NotFoundError(
        f"generation {manifest.generation} was made with model {wanted.name}, checksum {wanted.checksum}, "
        f"{missing}: install it, or rebuild with an installed one"
    )
