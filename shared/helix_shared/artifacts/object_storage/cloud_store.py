"""Object stores of clouds and folders, through obstore, with errors of our own.

S3, Google Cloud Storage and Azure take their credentials, endpoint and region from the environment variables
of their own tools (AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY and so on).
A folder (file://) is made by this module where it is missing. There the engine writes an object as `name#1`
first, and lists no such file: what a writer that was killed leaves is listed and removed here.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotModifiedError, PreconditionError
from obstore.store import LocalStore, from_url

from helix_shared.artifacts.files.durability import sha256_of, sync
from helix_shared.artifacts.object_storage.store import (
    SMALL_BYTES,
    ConflictError,
    ListedObject,
    ObjectContent,
    ObjectStore,
    ObjectVersion,
)
from helix_shared.errors import CorruptArtifactError, InvalidInputError, NotFoundError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK_BYTES: Final = SMALL_BYTES
"""Bytes of one request. A longer file is uploaded in several."""
_REQUESTS_IN_FLIGHT: Final = 4
"""Requests of one long file that run at the same time."""
_LOCK: Final = ".replacing.lock"
_UNFINISHED: Final = re.compile(r"#\d+\Z")
"""End of the name of a file that the engine has not given its own yet."""
_RETRIES: Final[Any] = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}


class CloudStore(ObjectStore):
    """S3, Google Cloud Storage, Azure or a folder."""

    def __init__(self, url: str, engine: Any, *, folder: Path | None) -> None:
        self.url = url
        self._engine = engine
        self._folder = folder

    @classmethod
    def open(cls, url: str) -> Self:
        """Open `s3://bucket/prefix`, `gs://...`, `az://...` or `file:///folder`; sends no request.

        Raises:
            InvalidInputError: the address or a setting of the environment is wrong.
        """
        scheme, _, rest = url.partition("://")
        try:
            if scheme == "file":
                folder = Path("/" + rest.lstrip("/"))
                return cls(url, LocalStore(folder, mkdir=True), folder=folder)
            return cls(url, from_url(url, retry_config=_RETRIES), folder=None)
        except (BaseError, OSError, ValueError) as error:
            raise InvalidInputError("bucket", f"cannot be opened: {url}: {_reason(error)}") from error

    def create(self, path: str, body: bytes) -> ObjectVersion:
        """As `ObjectStore.create`."""
        return self._put(path, body, "create")

    def replace(self, path: str, body: bytes, version: ObjectVersion) -> ObjectVersion:
        """As `ObjectStore.replace`."""
        if self._folder is not None:
            return self._replace_in_folder(self._folder, path, body, version)
        stated = {"e_tag": version.tag, "version": version.number}
        return self._put(path, body, {name: value for name, value in stated.items() if value is not None})

    def read(self, path: str, *, unless: ObjectVersion | None = None) -> ObjectContent | None:
        """As `ObjectStore.read`."""
        options: Any = {} if unless is None or unless.tag is None else {"if_none_match": unless.tag}
        with self._translated(path):
            try:
                found = obstore.get(self._engine, path, options=options)
                body = bytes(found.bytes())
            except NotModifiedError:
                return None
            return ObjectContent(body, _version(found.meta))

    def upload(self, path: str, file: Path) -> None:
        """As `ObjectStore.upload`."""
        with self._translated(path):
            obstore.put(self._engine, path, file, chunk_size=CHUNK_BYTES, max_concurrency=_REQUESTS_IN_FLIGHT)

    def download(self, path: str, target: Path, *, size: int) -> str:
        """As `ObjectStore.download`."""
        if (left := self._unfinished(path)) is not None:
            return self._copied(left, target, path, size)
        digest = hashlib.sha256()
        with self._translated(path), target.open("wb") as file:
            self._check_size(path, int(obstore.head(self._engine, path)["size"]), size)
            for start in range(0, size, CHUNK_BYTES):
                length = min(CHUNK_BYTES, size - start)
                chunk = obstore.get_range(self._engine, path, start=start, length=length)
                digest.update(chunk)
                file.write(chunk)
        sync(target)
        return digest.hexdigest()

    def list(self, prefix: str) -> Iterator[ListedObject]:
        """As `ObjectStore.list`."""
        with self._translated(prefix):
            for page in obstore.list(self._engine, prefix=prefix):
                for one in page:
                    yield ListedObject(one["path"], one["size"], one["last_modified"])
        if self._folder is not None:
            yield from _unfinished_below(self._folder, prefix)

    def delete(self, paths: Iterable[str]) -> None:
        """As `ObjectStore.delete`."""
        # several in one request; a folder stops at the first that is missing
        requests = [[path] for path in paths] if self._folder is not None else [[*paths]]
        for request in filter(None, requests):
            with self._translated(request[0]), contextlib.suppress(FileNotFoundError):
                if (left := self._unfinished(request[0])) is not None:
                    left.unlink()
                else:
                    obstore.delete(self._engine, request)

    def _put(self, path: str, body: bytes, mode: Any) -> ObjectVersion:
        with self._translated(path):
            try:
                return _version(obstore.put(self._engine, path, body, mode=mode, use_multipart=False))
            except (AlreadyExistsError, PreconditionError, FileNotFoundError) as error:
                raise ConflictError(path, self.url) from error

    def _replace_in_folder(
        self, folder: Path, path: str, body: bytes, version: ObjectVersion
    ) -> ObjectVersion:
        """A file system compares nothing: writers exclude each other by a lock."""
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with self._translated(path):
                try:
                    present = _version(obstore.head(self._engine, path))
                except FileNotFoundError:
                    present = None
                if present != version:
                    raise ConflictError(path, self.url)
                return _version(obstore.put(self._engine, path, body, use_multipart=False))

    def _copied(self, file: Path, target: Path, path: str, size: int) -> str:
        """`download` of a file of which the engine knows nothing."""
        with self._translated(path):
            shutil.copyfile(file, target)
        self._check_size(path, target.stat().st_size, size)
        sync(target)
        return sha256_of(target)

    def _check_size(self, path: str, stored: int, size: int) -> None:
        if stored != size:
            raise CorruptArtifactError(f"object {path} of {self.url} has {stored} bytes instead of {size}")

    def _unfinished(self, path: str) -> Path | None:
        """The file in a folder that an upload left before its end; None: `path` is an object."""
        if self._folder is None or _UNFINISHED.search(path) is None:
            return None
        return self._folder / path

    @contextlib.contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise NotFoundError(f"object {path} of {self.url} does not exist") from error
        except BaseError as error:
            raise TemporaryError(f"object store {self.url} does not answer: {_reason(error)}") from error


def _unfinished_below(folder: Path, prefix: str) -> Iterator[ListedObject]:
    for path in (folder / prefix).rglob("*#*"):
        with contextlib.suppress(FileNotFoundError):
            if _UNFINISHED.search(path.name):
                status = path.stat()
                modified = datetime.fromtimestamp(status.st_mtime, UTC)
                yield ListedObject(path.relative_to(folder).as_posix(), status.st_size, modified)


def _version(meta: Any) -> ObjectVersion:
    return ObjectVersion(meta["e_tag"], meta["version"])


def _reason(error: Exception) -> str:
    """The first line of a message; obstore appends the source of the error for debugging."""
    return str(error).strip().partition("\n")[0][:300]
