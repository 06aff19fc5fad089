"""The object store of NATS, for an instance without another one (ops/decisions/0112).

A file lies in parts of 16 MiB, each an object of its own: `parts/ab/ab12`, then `parts/ab/ab12~1` and so on.
A long object is what clients of the object store fail with, and a part that was uploaded needs no repetition.
`nats_bucket` says how an object lies in the stream. The bucket is that of `helix_shared.object_bucket`; the
path of the address is a prefix in it.
"""

from __future__ import annotations

import hashlib
import io
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, Self, TypeVar

from nats.js.errors import APIError, NoStreamResponseError

from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.artifacts.files.durability import sync
from helix_shared.artifacts.object_storage.nats_bucket import (
    ChangedError,
    Meta,
    NatsBucket,
    is_without_stream,
    new_nuid,
    owner_of,
)
from helix_shared.artifacts.object_storage.nats_connection import NatsConnection
from helix_shared.artifacts.object_storage.store import (
    ConflictError,
    ListedObject,
    ObjectContent,
    ObjectStore,
    ObjectVersion,
)
from helix_shared.errors import CorruptArtifactError, NotFoundError, TemporaryError
from helix_shared.object_bucket import BUCKET

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any, BinaryIO

    from helix_memory.transport.credentials import NatsCredentials

    P = ParamSpec("P")
    T = TypeVar("T")

PART_BYTES: Final = 16 * 1024 * 1024
"""Most bytes of one object; part of the format, since the size of a file gives the number of its parts."""
_WINDOW: Final = 8
"""Chunks in memory at once."""
_ATTEMPTS: Final = 3
_FRESH_SECONDS: Final = 5.0


@dataclass(slots=True)
class _Entry:
    """What the bucket has of one file."""

    metas: list[Meta] = field(default_factory=list)
    size: int = 0
    """Of the parts of which every chunk is there."""
    leftovers: list[str] = field(default_factory=list)
    """Subjects of chunks that no meta names."""


class NatsStore(ObjectStore):
    """The objects below a prefix of the bucket."""

    def __init__(self, url: str, connection: NatsConnection, prefix: str) -> None:
        self.url = url
        self._connection = connection
        self._prefix = prefix
        self._written: Meta | None = None
        """The newest that this store wrote and did not delete."""

    @classmethod
    def open(cls, url: str, *, credentials: NatsCredentials | None) -> Self:
        """Open `nats://host:port/prefix`, with commas between the hosts of a cluster; sends no request."""
        hosts, _, path = url.removeprefix("nats://").partition("/")
        servers = ",".join(f"nats://{host}" for host in hosts.split(","))
        prefix = path.strip("/")
        return cls(url, NatsConnection(servers, credentials), f"{prefix}/" if prefix else "")

    def create(self, path: str, body: bytes) -> ObjectVersion:
        """As `ObjectStore.create`."""
        return self._write(path, body, expected=0)

    def replace(self, path: str, body: bytes, version: ObjectVersion) -> ObjectVersion:
        """As `ObjectStore.replace`."""
        return self._write(path, body, expected=int(version.tag or 0))

    def read(self, path: str, *, unless: ObjectVersion | None = None) -> ObjectContent | None:
        """As `ObjectStore.read`."""
        for _ in range(_ATTEMPTS):
            meta = self._call(NatsBucket.meta, self._prefix + path)
            if meta is None:
                raise NotFoundError(f"object {path} of {self.url} does not exist")
            version = ObjectVersion(str(meta.sequence))
            if version == unless:
                return None
            chunks = [chunk for chunks in self._chunks(meta) for chunk in chunks]
            body = b"".join(filter(None, chunks))
            if None not in chunks and hashlib.sha256(body).digest() == meta.sha256:
                return ObjectContent(body, version)
            # a writer that replaces it removes the chunks
        raise CorruptArtifactError(f"object {path} of {self.url} is damaged, or chunks of it are missing")

    def upload(self, path: str, file: Path) -> None:
        """As `ObjectStore.upload`."""
        with file.open("rb") as source:
            for name in self._names(path, file.stat().st_size):
                before = self._call(NatsBucket.meta, name)
                self._put(name, source, PART_BYTES, expected=None)
                if before is not None:
                    self._erase(before.chunks)

    def download(self, path: str, target: Path, *, size: int) -> str:
        """As `ObjectStore.download`."""
        found = [self._call(NatsBucket.meta, name) for name in self._names(path, size)]
        metas = [meta for meta in found if meta is not None]
        if not metas:
            raise NotFoundError(f"object {path} of {self.url} does not exist")
        stored = sum(meta.size for meta in metas)
        if stored != size:
            raise CorruptArtifactError(f"object {path} of {self.url} has {stored} bytes instead of {size}")
        digest = hashlib.sha256()
        with target.open("wb") as file:
            for chunks in (chunks for meta in metas for chunks in self._chunks(meta)):
                for chunk in chunks:
                    if chunk is None:
                        raise CorruptArtifactError(f"object {path} of {self.url} has lost a chunk")
                    digest.update(chunk)
                    file.write(chunk)
            if file.tell() != size:
                raise CorruptArtifactError(
                    f"object {path} of {self.url} has {file.tell()} bytes instead of {size}"
                )
        sync(target)
        return digest.hexdigest()

    def list(self, prefix: str) -> Iterator[ListedObject]:
        """As `ObjectStore.list`."""
        for name, entry in self._entries().items():
            path = name.removeprefix(self._prefix)
            if name.startswith(self._prefix) and path.startswith(f"{prefix}/"):
                modified = max((meta.modified for meta in entry.metas if meta.modified), default=None)
                if modified is None:
                    # of an upload that has not ended, or never will
                    nuid = entry.leftovers[0]
                    modified = self._call(NatsBucket.last_written, nuid)
                if modified is not None:
                    yield ListedObject(path, entry.size, modified)

    def delete(self, paths: Iterable[str]) -> None:
        """As `ObjectStore.delete`."""
        names = {self._prefix + path for path in paths}
        found = self._entries() if names else {}
        for name in names & found.keys():
            entry = found[name]
            metas = [meta.sequence for meta in entry.metas]
            # the meta first: nobody may find an object without chunks
            self._erase([*metas, *(chunk for meta in entry.metas for chunk in meta.chunks)])
            for nuid in entry.leftovers:
                self._call(NatsBucket.erase_chunks, nuid)
            if self._written is not None and self._written.sequence in metas:
                self._written = None

    def close(self) -> None:
        """As `ObjectStore.close`."""
        self._connection.close()

    def _names(self, path: str, size: int) -> Sequence[str]:
        """The objects of a file, in their order."""
        more = range(1, -(-size // PART_BYTES))
        return [self._prefix + path, *(f"{self._prefix}{path}~{place}" for place in more)]

    def _write(self, path: str, body: bytes, *, expected: int) -> ObjectVersion:
        name = self._prefix + path
        try:
            meta = self._put(name, io.BytesIO(body), len(body), expected=expected)
        except ChangedError as error:
            raise ConflictError(path, self.url) from error
        # of older contents, and of writes that did not succeed
        before = min((*meta.chunks, meta.sequence))
        self._call(NatsBucket.purge_older, name, before)
        return ObjectVersion(str(meta.sequence))

    def _put(self, name: str, source: BinaryIO, size: int, *, expected: int | None) -> Meta:
        """Write the next `size` bytes of `source`, or what is left of it, as one object."""
        nuid, digest, sequences, length = new_nuid(name), hashlib.sha256(), [], 0
        most = self._call(NatsBucket.chunk_bytes)
        while body := source.read(min(most, size - length)):
            digest.update(body)
            length += len(body)
            sequences.append(self._call(NatsBucket.add_chunk, nuid, body))
        meta = Meta(name, nuid, length, tuple(sequences), digest.digest())
        try:
            sequence = self._call(NatsBucket.add_meta, meta, expected)
        except ChangedError:
            self._erase(sequences)
            raise
        self._written = replace(meta, sequence=sequence)
        return self._written

    def _chunks(self, meta: Meta) -> Iterator[Sequence[bytes | None]]:
        places = range(len(meta.chunks))
        for start in places[::_WINDOW]:
            window = places[start : start + _WINDOW]
            yield self._call(NatsBucket.chunks, meta, window)

    def _entries(self) -> dict[str, _Entry]:
        """Everything in the bucket, by the name of its file; not older than what this store wrote."""
        until = time.monotonic() + _FRESH_SECONDS
        metas = self._call(NatsBucket.metas)
        while self._is_behind(metas):
            if time.monotonic() > until:
                raise TemporaryError(f"object store {self.url} does not list what was written")
            time.sleep(0.05)
            metas = self._call(NatsBucket.metas)
        counts = self._call(NatsBucket.chunk_counts)
        found: dict[str, _Entry] = {}
        for meta in {meta.name: meta for meta in metas}.values():
            entry = found.setdefault(_file_of(meta.name), _Entry())
            entry.metas.append(meta)
            if counts.pop(meta.nuid, 0) == len(meta.chunks):
                entry.size += meta.size
        for nuid in counts:
            found.setdefault(_file_of(owner_of(nuid)), _Entry()).leftovers.append(nuid)
        return found

    def _is_behind(self, metas: Sequence[Meta]) -> bool:
        """Whether a replica of the stream answered that does not have yet what this store wrote."""
        written = self._written
        if written is None or any(meta.sequence >= written.sequence for meta in metas):
            return False
        now = self._call(NatsBucket.meta, written.name)
        return now is not None and now.sequence == written.sequence

    def _erase(self, sequences: Sequence[int]) -> None:
        for start in range(0, len(sequences), _WINDOW):
            some = sequences[start : start + _WINDOW]
            self._call(NatsBucket.erase, some)

    def _call(
        self,
        work: Callable[Concatenate[NatsBucket, P], Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        try:
            return self._connection.run(lambda bucket: work(bucket, *args, **kwargs))
        except NoStreamResponseError as error:
            raise self._without_bucket() from error
        except APIError as error:
            if is_without_stream(error):
                raise self._without_bucket() from error
            raise TemporaryError(f"object store {self.url} refuses: {error.description}") from error
        except UNANSWERED as error:
            reason = reason_of(error)
            raise TemporaryError(f"object store {self.url} does not answer: {reason}") from error

    def _without_bucket(self) -> TemporaryError:
        return TemporaryError(
            f"object store {self.url} has no bucket {BUCKET}: run `helix provision --bucket`"
        )


def _file_of(name: str) -> str:
    """The file of which an object is a part; the prefix of an address may have a `~` of its own."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition('~')[0]}"
