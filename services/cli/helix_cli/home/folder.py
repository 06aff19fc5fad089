"""The home folder (`HELIX_HOME`, default `~/.helix`): its paths.

```
data/        NATS (data/nats) and the generations; those of later shards than the first in data/shards/1, ...
models/      encoders
logs/        one file per process
imports/     how many documents large files became
run/up.lock  held by the running `helix up`
run/up.json  addresses and process ids of the running `helix up`
run/metrics.json  those of its metrics, for Prometheus (`file_sd_configs`)
run/alone.json  those of the NATS server of a `helix rebuild` or `helix restore` that runs without one
restoring/   what a `helix restore` has prepared; it holds texts in the clear, and is removed with its end
```
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helix_shared.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class HomeFolder:
    """Paths below one home."""

    root: Path

    @classmethod
    def at(cls, path: Path) -> HomeFolder:
        """The home at `path`; expands `~`.

        Raises:
            InvalidInputError: it begins with the name of a user who does not exist.
        """
        try:
            return cls(path.expanduser().absolute())
        except RuntimeError as error:
            raise InvalidInputError("--home", f"{path} begins with an unknown user") from error

    @property
    def data(self) -> Path:
        """Generations and, below `nats`, the streams."""
        return self.root / "data"

    def data_of(self, shard: int) -> Path:
        """The data folder of a shard."""
        from helix_shared.shard_map import folder_of_shard  # noqa: PLC0415  pydantic is slow to import

        return folder_of_shard(self.data, shard)

    @property
    def shards(self) -> int:
        """Number of shards; a folder that was never written by a writer counts as well."""
        shard = 1
        while self.data_of(shard).is_dir():
            shard += 1
        return shard

    @property
    def nats(self) -> Path:
        """Folder of the NATS server."""
        return self.data / "nats"

    @property
    def later_events(self) -> Path:
        """What waits for its places in the log during a `helix archive restore`, in the clear."""
        return self.data / "later-events.log"

    @property
    def restoring(self) -> Path:
        """Where `helix restore` prepares the data; beside their place, since a rename stays on its disk."""
        if self.data.is_symlink():
            place = self.data.resolve()
            return place.with_name(f".{place.name}.restoring")
        return self.root / "restoring"

    @property
    def models(self) -> Path:
        """Folder of the encoders."""
        return self.root / "models"

    @property
    def logs(self) -> Path:
        """Folder of the logs."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """Folder of the lock and the record."""
        return self.root / "run"
