"""What a backup holds: a manifest that is written last, so a backup without one does not exist.

<backup>/manifests/000001.json   one for each backup, with its own checksum
<backup>/objects/ab/ab34...      the pieces of all of them
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from helix_cli.backup.objects import Objects
from helix_memory.refusal import first_broken
from helix_memory.sharding import MOST_SHARDS
from helix_shared.artifacts.files.durability import sync, write_synced
from helix_shared.errors import CorruptArtifactError, NotFoundError, PermanentError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT: Final = "helix-backup"
VERSION: Final = 3
"""A reader takes this version and all earlier ones. Version 1 is in the clear, with a snapshot of the log;
versions 1 and 2 hold one shard, whose fields are those of the manifest."""
_LAST_OF_ONE_SHARD: Final = 2
MANIFESTS: Final = "manifests"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _inside(path: str) -> str:
    parts = path.split("/")
    if "\\" in path or "\0" in path or {"", ".", ".."} & set(parts):
        raise ValueError("path must be plain and relative")
    return path


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StreamCopy(_Frozen):
    """A snapshot of a stream as JetStream made it, in pieces; without its consumers."""

    config: dict[str, Any]
    state: dict[str, Any]
    pieces: tuple[Sha256, ...]


class Derived(_Frozen):
    """The derived messages that some consumer still needed, in segments of `helix_shared.event_log`."""

    messages: int = Field(ge=0)
    pieces: tuple[Sha256, ...]


class FileCopy(_Frozen):
    """A file; `path` is relative to the data folder of its shard, or to that of the models."""

    path: Annotated[str, AfterValidator(_inside)]
    size: int = Field(ge=0)
    sha256: Sha256
    pieces: tuple[Sha256, ...] = Field(
        default=(), description="under the state key; else the file is one piece"
    )


class EventPiece(_Frozen):
    """A piece with events up to a sequence, from the one after the piece before."""

    last: int = Field(ge=1)
    name: Sha256
    is_full: bool = Field(description="a later backup takes it over")


class EventsCopy(_Frozen):
    """The log, each event under the key of its user."""

    log: str = Field(description="when the stream was created")
    config: dict[str, Any]
    last: int = Field(ge=0)
    pieces: tuple[EventPiece, ...]


class Keys(_Frozen):
    """Which keys open the backup; says nothing of them."""

    store: str
    epoch: int = Field(ge=1)
    state: str = Field(description="name of the key of everything but events")


class ShardCopy(_Frozen):
    """What a backup holds of one shard; the log and the other streams are those of all."""

    generation: int = Field(default=0, ge=0, description="0: nothing was published yet")
    applied_sequence: int = Field(default=0, ge=0, description="events up to this one are in the generation")
    epoch: int = Field(default=0, ge=0, description="fencing token of its writer")
    files: tuple[FileCopy, ...] = Field(default=(), description="generation and learned adapters")


class Contents(_Frozen):
    """The manifest of one backup."""

    format: str = FORMAT
    version: int = VERSION
    number: int = Field(ge=1)
    made_at: AwareDatetime
    helix: str
    last_sequence: int = Field(ge=0, description="the backup holds every event up to this one")
    shards: tuple[ShardCopy, ...] = Field(min_length=1, max_length=MOST_SHARDS)
    shard_map: Sha256 | None = Field(default=None, description="piece with the map; None: there is none")
    floors: dict[str, int] = Field(description="by consumer of HELIX_EVENTS: what it needs no more")
    streams: dict[str, StreamCopy]
    derived: Derived
    models: dict[str, str] = Field(description="checksum by name, of the models that were installed")
    model_files: tuple[FileCopy, ...] = ()
    settings: dict[str, str] = Field(description="variables with which memories are made")
    keys: Keys | None = Field(default=None, description="None: the backup is in the clear")
    events: EventsCopy | None = Field(default=None, description="None: `streams` has a snapshot of the log")

    @model_validator(mode="before")
    @classmethod
    def _one_shard_of_before(cls, fields: dict[str, Any]) -> dict[str, Any]:
        if fields.get("version", VERSION) > _LAST_OF_ONE_SHARD:
            return fields
        own = {name: fields[name] for name in ShardCopy.model_fields if name in fields}
        return {name: value for name, value in fields.items() if name not in own} | {"shards": [own]}

    @property
    def applied_sequence(self) -> int:
        """Events up to this one are in the generation of their shard."""
        return min(one.applied_sequence for one in self.shards)

    def facts(self) -> dict[str, Any]:
        """What commands print as JSON."""
        told = self.model_dump(mode="json", include={"number", "made_at", "helix", "last_sequence", "models"})
        shards = [one.model_dump(include={"generation", "applied_sequence"}) for one in self.shards]
        return told | {
            "applied_sequence": self.applied_sequence,
            "shards": [{"shard": number} | one for number, one in enumerate(shards)],
        }

    def line(self) -> str:
        """What commands print."""
        if len(self.shards) == 1:
            return f"events up to {self.last_sequence}, generation {self.shards[0].generation}"
        shards = (
            f"shard {number} as of event {one.applied_sequence} (generation {one.generation})"
            for number, one in enumerate(self.shards)
        )
        return f"events up to {self.last_sequence}; {', '.join(shards)}"

    def names(self) -> Iterator[str]:
        """The pieces that the backup consists of; some may repeat."""
        for stream in self.streams.values():
            yield from stream.pieces
        yield from self.derived.pieces
        yield from (file.sha256 for file in self.model_files)
        yield from (piece.name for piece in (self.events.pieces if self.events else ()))
        for shard in self.shards:
            for file in shard.files:
                yield from file.pieces if self.keys else (file.sha256,)
        if self.shard_map:
            yield self.shard_map

    def without_state(self) -> Self:
        """The log and the models alone: nothing is applied, and every reader begins at the first event."""
        none: dict[str, Any] = {
            "shards": (ShardCopy(),) * len(self.shards),
            "shard_map": None,
            "floors": {},
            "streams": {},
        }
        return self.model_copy(update={**none, "derived": Derived(messages=0, pieces=())})


def numbers(root: Path) -> list[int]:
    """The backups in a folder, oldest first."""
    folder = root / MANIFESTS
    names = [path.stem for path in folder.glob("*.json")] if folder.is_dir() else []
    return sorted(int(name) for name in names if name.isdigit())


def manifest_path(root: Path, number: int) -> Path:
    """The manifest of a backup."""
    return root / MANIFESTS / f"{number:06d}.json"


def read_contents(root: Path, number: int = 0) -> Contents:
    """The manifest of a backup; 0: of the last one.

    Raises:
        NotFoundError: there is no such backup.
        CorruptArtifactError: its manifest is damaged.
        PermanentError: it is of a later format.
    """
    found = numbers(root)
    if not found or (number and number not in found):
        wanted = f"no backup {number}" if number else "no backup"
        raise NotFoundError(f"{root} holds {wanted}: a backup that did not end has no manifest")
    path = manifest_path(root, number or found[-1])
    try:
        body, _, digest = path.read_bytes().rstrip(b"\n").rpartition(b"\n")
        if hashlib.sha256(body).hexdigest() != digest.decode("ascii"):
            raise CorruptArtifactError(f"manifest of the backup is damaged: {path}")
        fields = json.loads(body)
        if fields.get("format") != FORMAT or not isinstance(fields.get("version"), int):
            raise CorruptArtifactError(f"no manifest of a backup: {path}")
        if fields["version"] > VERSION:
            version = fields["version"]
            raise PermanentError(f"{path} is of format {version}, this release reads up to {VERSION}")
        return Contents.model_validate(fields)
    except ValidationError as error:
        names, reason = first_broken(error)
        raise CorruptArtifactError(f"manifest {path} is damaged: {'.'.join(names)}: {reason}") from error
    except (OSError, ValueError, AttributeError) as error:
        raise CorruptArtifactError(f"manifest of the backup cannot be read: {path}") from error


def write_contents(root: Path, contents: Contents) -> None:
    """Write the manifest; afterwards the backup is valid."""
    folder = root / MANIFESTS
    folder.mkdir(parents=True, exist_ok=True)
    body = contents.model_dump_json().encode()
    path = manifest_path(root, contents.number)
    draft = path.with_suffix(".new")
    write_synced(draft, body + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n")
    draft.replace(path)
    sync(folder)
    sync(root)


def check_pieces(root: Path, contents: Contents) -> tuple[int, int]:
    """Compare every piece with its checksum; returns their number and bytes.

    Raises:
        CorruptArtifactError: one is missing or damaged; names its file.
    """
    objects = Objects(root)
    pieces = sorted(set(contents.names()))
    return len(pieces), sum(map(objects.check, pieces))
