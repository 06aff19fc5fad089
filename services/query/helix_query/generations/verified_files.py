"""The list of files that were verified before, kept in the cache folder: a restart hashes only new files.

A file is identified by device, inode, size and modification time, and listed with its checksum: a file that
was rewritten or replaced is hashed again. ctime is left out, because every publish links shared files and so
changes it. A list that is missing, damaged or cannot be written only costs time. `current` reads it at the
start and writes it after every new generation.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from helix_shared.artifacts.generation.integrity import verify
from helix_shared.machine.whole_file import write_whole
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

    from helix_shared.artifacts.generation.manifest import Manifest

_NAME_DIGITS: Final = 16

_log = logger(__name__)


class _VerifiedFiles(BaseModel):
    """Format of the file; `verified` maps an identity to a checksum."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format_version: Literal[1]
    verified: dict[str, Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]]


class VerifiedFiles:
    """The list of one data folder; without a path it is kept in memory alone."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._verified = set() if path is None else read_verified_files(path)

    def verify(self, folder: Path, *, beside: bool) -> Manifest:
        """As `integrity.verify`, which raises."""
        before = set(self._verified)
        manifest = verify(folder, verified=self._verified, beside=beside)
        if (
            self._path is not None
            and self._verified != before
            and not write_verified_files(self._path, self._verified)
        ):
            # Logged once: the folder will not become writable.
            self._path = None
        return manifest


def verified_files_path(cache: Path, data: Path) -> Path:
    """Path of the list for a data folder, in the cache folder."""
    name = hashlib.sha256(os.fsencode(data.absolute())).hexdigest()[:_NAME_DIGITS]
    return cache / f"verified-{name}.json"


def read_verified_files(path: Path) -> set[tuple[str, str]]:
    """Identities and checksums for `verify`; empty if the list cannot be read."""
    try:
        return set(_VerifiedFiles.model_validate_json(path.read_bytes()).verified.items())
    except FileNotFoundError:
        return set()
    except (OSError, ValidationError) as error:
        _log.warning("verified_files_ignored", path=str(path), error=type(error).__name__)
        return set()


def write_verified_files(path: Path, verified: set[tuple[str, str]]) -> bool:
    """Replace the list atomically; return whether it could be written."""
    body = _VerifiedFiles(format_version=1, verified=dict(verified)).model_dump_json().encode()
    try:
        write_whole(path, body)
    except OSError as error:
        _log.warning("verified_files_not_written", path=str(path), error=str(error))
        return False
    return True
