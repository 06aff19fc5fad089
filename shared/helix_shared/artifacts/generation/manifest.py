"""The manifest: the facts of one generation and the checksum of each of its files.

It is written last, so a folder with a manifest is complete.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import reduce
from operator import xor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from helix_memory.refusal import first_broken
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.errors import REBUILD, CorruptArtifactError
from helix_shared.identity import id_digest
from helix_shared.json_object import json_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MANIFEST_NAME: Final = "manifest.json"
FORMAT_VERSION: Final = 13
SCHEMA_VERSION: Final = 1

_SHA256: Final = r"^[0-9a-f]{64}$"
_DIGEST: Final = r"^[0-9a-f]{16}$"


def _inside(path: str) -> str:
    parts = path.split("/")
    # an absolute path and a path with a double slash have an empty part
    if "\\" in path or "\0" in path or "" in parts or "." in parts:
        raise ValueError("path must be plain and relative")
    if ".." in parts or path == MANIFEST_NAME:
        raise ValueError("path must name a file inside the generation")
    return path


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StreamState(_Frozen):
    """The event stream when the generation was built; the writer compares it to detect a reset stream."""

    name: str
    created_at: datetime | None = None
    first_sequence: int = Field(default=0, ge=0)
    last_sequence: int = Field(default=0, ge=0)

    @property
    def created_text(self) -> str:
        """When it was created, in ISO format; empty if the server does not say."""
        return "" if self.created_at is None else self.created_at.isoformat()


class Counts(_Frozen):
    """Sizes of the four artifacts; `publish` refuses sizes that contradict each other."""

    memories: int = Field(default=0, ge=0, description="rows of the vector table, hidden ones included")
    hidden: int = Field(default=0, ge=0, description="rows that are not in the lexicon")
    lexicon: int = Field(default=0, ge=0, description="memories in the lexicon: memories - hidden")
    signals: int = Field(
        default=0, ge=0, description="one more than the highest ordinal; erased memories keep theirs"
    )
    nodes: int = Field(default=0, ge=0, description="graph nodes: ordinals, then entities")
    entities: int = Field(default=0, ge=0)
    edges: int = Field(default=0, ge=0, description="stored edges: two for each link")

    decayed: int = Field(default=0, ge=0, description="hidden rows that nothing but decay hides")

    @property
    def recallable(self) -> int:
        """Memories that are not hidden; logs, GetStatus and `helix status` show this number."""
        return self.memories - self.hidden


class ModelIdentity(_Frozen):
    """The encoder that made all vectors of the generation."""

    name: str
    checksum: str
    dimensions: int = Field(gt=0)


class FileEntry(_Frozen):
    """One file of the generation; `path` is relative with forward slashes."""

    path: Annotated[str, AfterValidator(_inside)]
    size: int = Field(ge=0)
    sha256: str = Field(pattern=_SHA256)


class Manifest(_Frozen):
    """The manifest of one generation."""

    format_version: int = FORMAT_VERSION
    generation: int = Field(gt=0)
    parent: int = Field(default=0, ge=0, description="generation that this one was built on; 0: none")
    origin: int = Field(
        default=0,
        ge=0,
        description="generation whose stores were built anew, from which this one descends; only in "
        "generations of one origin ordinals and rows mean the same; 0: the first of the data folder",
    )
    epoch: int = Field(default=0, ge=0, description="fencing token of the writer's lease; never decreases")
    published_at: AwareDatetime
    stream: StreamState
    applied_sequence: int = Field(default=0, ge=0, description="every event up to this one is included")
    derived_sequence: int = Field(default=0, ge=0, description="the same of derived messages")
    counts: Counts
    digest: str = Field(pattern=_DIGEST, description="`digest_of` all memory ids")
    model: ModelIdentity
    made_with: dict[str, tuple[str, ...]] = Field(
        default={},
        description="by name of what makes memories, the versions of rules and the settings of all that is "
        "in the generation, since its origin; without a name: made by a release that did not note it",
    )
    schema_version: int = SCHEMA_VERSION
    files: tuple[FileEntry, ...] = ()
    checksum: str = Field(
        default="",
        pattern=r"^([0-9a-f]{64})?$",
        description="sha256 of all other fields, on the disk alone; empty: an earlier release wrote it",
    )

    def sealed(self) -> bytes:
        """The file of the manifest, with its checksum."""
        return self.model_copy(update={"checksum": _checksum_of(self)}).model_dump_json(indent=1).encode()

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a generation's folder.

        Raises:
            CorruptArtifactError: it is missing, damaged, of another format, or names a path outside it.
        """
        try:
            body = (folder / MANIFEST_NAME).read_bytes()
        except OSError as error:
            raise CorruptArtifactError(f"generation has no readable manifest: {folder}; {REBUILD}") from error
        return cls.parse(body, where=str(folder))

    @classmethod
    def parse(cls, body: bytes, *, where: str) -> Manifest:
        """Read the bytes of a manifest, which lay at `where`.

        Raises:
            CorruptArtifactError: it is damaged, of another format, or names a path outside its folder.
        """
        try:
            found = cls.model_validate_json(body)
        except ValidationError as error:
            check_format(json_object(body))
            path, reason = first_broken(error)
            field = ".".join(path)
            raise CorruptArtifactError(
                f"manifest of {where} is damaged: {field}: {reason}; {REBUILD}"
            ) from error
        if found.checksum and found.checksum != _checksum_of(found):
            raise CorruptArtifactError(
                f"manifest of {where} is damaged: another checksum than it states; {REBUILD}"
            )
        return found.model_copy(update={"checksum": ""})


def current_manifest(root: Path) -> Manifest | None:
    """The manifest of the current generation of a data folder; None before the first.

    Raises:
        CorruptArtifactError: CURRENT or the manifest cannot be read.
    """
    number = current_number(root)
    return None if number is None else Manifest.read(folder_of(root, number))


def _checksum_of(manifest: Manifest) -> str:
    return hashlib.sha256(manifest.model_dump_json(exclude={"checksum"}).encode()).hexdigest()


def raw_manifest(folder: Path) -> dict[str, Any]:
    """What a manifest says, of whatever format; empty if it cannot be read."""
    try:
        return json_object((folder / MANIFEST_NAME).read_bytes())
    except OSError:
        return {}


def check_format(stated: Mapping[str, Any]) -> None:
    """Refuse what a manifest of another format states.

    Raises:
        CorruptArtifactError: its format is not that of this release.
    """
    found = stated.get("format_version", FORMAT_VERSION)
    if found != FORMAT_VERSION:
        raise CorruptArtifactError(
            f"generation has format {found}, this release reads {FORMAT_VERSION}; {REBUILD}"
        )


def digest_of(memory_ids: Iterable[str]) -> str:
    """Digest of a set of memory ids: their 64-bit XOR as 16 hexadecimal digits."""
    return f"{reduce(xor, map(id_digest, memory_ids), 0):016x}"
