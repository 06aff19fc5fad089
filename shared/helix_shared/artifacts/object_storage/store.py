"""The operations on objects that generations need; `opening` opens an implementation.

`cloud_store` has S3, Google Cloud Storage, Azure and a folder, `nats_store` the object store of NATS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

SMALL_BYTES: Final = 8 * 1024 * 1024
"""Longer files are uploaded one at a time, because each of them already runs or buffers several requests."""


class ConflictError(PermanentError):
    """The object exists already, or is not the one that was read: another writer was here."""

    def __init__(self, path: str, url: str) -> None:
        super().__init__(f"object {path} of {url} was written by another writer")


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """Identifies the content that an object had when it was read or written."""

    tag: str | None
    number: str | None = None
    """Google Cloud Storage counts versions instead."""


@dataclass(frozen=True, slots=True)
class ObjectContent:
    """A small object that was read."""

    body: bytes
    version: ObjectVersion


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object that a listing names."""

    path: str
    size: int
    modified: datetime
    """By the clock of the store."""


class ObjectStore(ABC):
    """The objects below one address; any thread may use it."""

    url: str

    @abstractmethod
    def create(self, path: str, body: bytes) -> ObjectVersion:
        """Write an object that does not exist (If-None-Match).

        Raises:
            ConflictError: it exists.
            TemporaryError: the store does not answer.
        """

    @abstractmethod
    def replace(self, path: str, body: bytes, version: ObjectVersion) -> ObjectVersion:
        """Write an object if its content is still that of `version` (If-Match).

        Raises:
            ConflictError: it has another content, or none.
            TemporaryError: the store does not answer.
        """

    @abstractmethod
    def read(self, path: str, *, unless: ObjectVersion | None = None) -> ObjectContent | None:
        """Read a small object whole; None if its content is still that of `unless`.

        Raises:
            NotFoundError: there is none.
            CorruptArtifactError: the store lost a part of it.
            TemporaryError: the store does not answer.
        """

    @abstractmethod
    def upload(self, path: str, file: Path) -> None:
        """Write a file, a long one in several requests; an object that exists is replaced.

        Raises:
            TemporaryError: the store does not answer.
        """

    @abstractmethod
    def download(self, path: str, target: Path, *, size: int) -> str:
        """Write `size` bytes of an object to a new file, synced; returns their SHA-256.

        Raises:
            NotFoundError: there is none.
            CorruptArtifactError: it has another size.
            TemporaryError: the store does not answer.
        """

    @abstractmethod
    def list(self, prefix: str) -> Iterator[ListedObject]:
        """All objects below a prefix, in no certain order.

        Raises:
            TemporaryError: the store does not answer.
        """

    @abstractmethod
    def delete(self, paths: Iterable[str]) -> None:
        """Remove objects; one that does not exist counts as removed.

        Raises:
            TemporaryError: the store does not answer.
        """

    def close(self) -> None:  # noqa: B027  most have nothing to close
        """Close connections; a request that runs fails."""
