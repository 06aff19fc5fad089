"""A file that is read again when it changes; while it cannot be used, nothing that it held is valid."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.telemetry.logs import logger

T = TypeVar("T")
OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH

_log = logger(__name__)


class WatchedFile(Generic[T]):
    """The parsed content of a file; used from one thread."""

    def __init__(self, path: Path, parse: Callable[[bytes], T], *, setting: str) -> None:
        """Read it; `setting` is the variable that names it.

        Raises:
            InvalidInputError: it cannot be read, others may write it, or `parse` raises.
        """
        self._path = path
        self._parse = parse
        self._setting = setting
        self._seen = self._stamp()
        self._value: T | None = self._read()

    def value(self) -> T | None:
        """The content as it is now; None while the file is missing or invalid."""
        if (stamp := self._stamp()) != self._seen:
            self._seen = stamp
            try:
                self._value = self._read()
            except HelixError as error:
                self._value = None
                _log.error("credentials_file_refused", reason=str(error))
        return self._value

    def _stamp(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)

    def _read(self) -> T:
        try:
            if self._path.stat().st_mode & OTHERS_WRITE:
                raise InvalidInputError(self._setting, f"others may write {self._path}: chmod go-w")
            body = self._path.read_bytes()
        except OSError as error:
            reason = f"{self._path} cannot be read: {error.strerror}"
            raise InvalidInputError(self._setting, reason) from error
        try:
            return self._parse(body)
        except Exception as error:  # whatever a parser raises, the file is invalid
            reason = f"{self._path} is invalid: {error}"
            raise InvalidInputError(self._setting, reason) from error
