"""The record of uploads that a writer keeps in its data folder; `helix status` shows it.

It also tells the generations of this data folder from those of another one. Ordinals mean the same only in
generations that descend from each other, so a writer follows none but its own.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from helix_shared.machine.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "object-storage.json"
_REMEMBERED: Final = 64
_writing: Final = threading.Lock()
"""Threads of one process share a folder; another process cannot."""


class UploadRecord(BaseModel):
    """The uploads of one data folder to one address."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    manifests: dict[str, str] = {}
    """Checksums of the last manifests that this folder published, by path."""
    generation: int = 0
    """The newest that is complete there; 0: none."""
    published_at: datetime | None = None
    """When the writer published that one locally."""
    uploaded_at: datetime | None = None
    uploaded_bytes: int = 0
    """Of that one alone."""
    uploaded_parts: int = 0
    skipped_parts: int = 0
    """Parts that an earlier generation had brought."""
    problem: str = ""
    """Why nothing newer is there; empty: nothing is wrong."""

    @classmethod
    def read(cls, root: Path, url: str = "") -> Self:
        """The record of a data folder; an empty one where there is none, or one of another address."""
        try:
            found = cls.model_validate_json((root / FILE).read_bytes())
        except (OSError, ValidationError):
            return cls(url=url)
        return found if url in {"", found.url} else cls(url=url)

    def write(self, root: Path) -> None:
        """Replace the record, durably.

        It keeps the manifests that are there: those of this one may be older, where a thread that was left
        behind after the lease was lost tells what became of its upload.
        """
        with _writing:
            manifests = self.read(root, self.url).manifests | self.manifests
            kept = dict([*manifests.items()][-_REMEMBERED:])
            body = self.model_copy(update={"manifests": kept}).model_dump_json()
            write_whole(root / FILE, body.encode(), synced=True)

    def with_manifest(self, path: str, sha256: str) -> Self:
        """The record with one more manifest."""
        return self.model_copy(update={"manifests": self.manifests | {path: sha256}})
