"""Paths of the objects of one shard in object storage.

    CURRENT                                      the pointer: epoch, number and manifest of the newest
    manifests/<epoch>-<generation>.json          the manifest of a generation, byte for byte; never replaced
    parts/ab/ab12...                             a file of generations, named by its sha256; never changed
    canary/...                                   leftovers of the proof at a start

Epochs and numbers have twelve digits, so names sort as the generations do.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from helix_shared.errors import CorruptArtifactError

POINTER: Final = "CURRENT"
MANIFESTS: Final = "manifests"
PARTS: Final = "parts"
CANARY: Final = "canary"
_MANIFEST_NAME: Final = re.compile(r"^(\d{12})-(\d{12})\.json$")
_SHA256: Final = r"^[0-9a-f]{64}$"


class GenerationPosition(NamedTuple):
    """Which of two generations is newer: the one of the later writer, then the one with the higher number."""

    epoch: int
    generation: int

    @property
    def path(self) -> str:
        """Path of its manifest."""
        return f"{MANIFESTS}/{self.epoch:012d}-{self.generation:012d}.json"

    @classmethod
    def of_path(cls, path: str) -> Self | None:
        """The inverse of `path`; None for another object."""
        found = _MANIFEST_NAME.match(path.removeprefix(f"{MANIFESTS}/"))
        return None if found is None else cls(int(found[1]), int(found[2]))


class Pointer(BaseModel):
    """The newest generation; replaced only if nobody else replaced it since it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epoch: int = Field(ge=0)
    generation: int = Field(gt=0)
    sha256: str = Field(pattern=_SHA256, description="of the bytes of its manifest")

    @property
    def position(self) -> GenerationPosition:
        """Epoch and number."""
        return GenerationPosition(self.epoch, self.generation)

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read a pointer.

        Raises:
            CorruptArtifactError: it is none.
        """
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            raise CorruptArtifactError(f"object {POINTER} in object storage is damaged") from error


def part_path(sha256: str) -> str:
    """Path of the part with this checksum."""
    return f"{PARTS}/{sha256[:2]}/{sha256}"


def sha256_of_bytes(body: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(body).hexdigest()
