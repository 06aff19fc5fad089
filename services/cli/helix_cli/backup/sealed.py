"""Encryption of backups: events under the keys of their users, everything else under the state key.

An event is one message of AES-256-GCM, under a key that no other event has. Other pieces are AES-SIV (RFC
5297), which needs no nonce: the same piece is the same bytes in the next backup, so it is stored once.
"""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

from helix_shared.artifacts.files.durability import sync
from helix_shared.errors import CorruptArtifactError
from helix_shared.event_log.record import EventRecord
from helix_shared.event_log.segment import MAGIC, encoded, read_entries

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.backup.objects import Objects

PIECE_BYTES: Final = 4 * 1024 * 1024
_NONCE_BYTES: Final = 12


def seal_event(record: EventRecord, key: bytes, name: str) -> bytes:
    """All of an event: its subject and headers, too. `name` is that of the key."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, encoded(record), _bound(record.sequence, name))


def open_event(content: bytes, sequence: int, key: bytes, name: str) -> EventRecord:
    """The inverse of `seal_event`.

    Raises:
        CorruptArtifactError: it is not what was sealed.
    """
    nonce, body = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
    try:
        plain = AESGCM(key).decrypt(nonce, body, _bound(sequence, name))
    except (InvalidTag, ValueError) as error:
        raise CorruptArtifactError(f"event {sequence} of the backup does not fit its key {name}") from error
    for entry, _ in read_entries(io.BytesIO(MAGIC + plain), f"event {sequence}"):
        if isinstance(entry, EventRecord) and entry.sequence == sequence:
            return entry
    raise CorruptArtifactError(f"event {sequence} of the backup holds another one")


def _bound(sequence: int, name: str) -> bytes:
    return f"{name}:{sequence}".encode()


@dataclass(slots=True)
class SealedObjects:
    """Pieces in `objects` that only the state key opens."""

    objects: Objects
    key: bytes = field(repr=False)

    def put(self, piece: bytes) -> str:
        """Keep a piece; returns its name."""
        return self.objects.put(AESSIV(self.key).encrypt(piece, None))

    def read(self, name: str) -> bytes:
        """A piece, checked.

        Raises:
            CorruptArtifactError: it is missing or damaged, or is under another key.
        """
        try:
            return AESSIV(self.key).decrypt(self.objects.read(name), None)
        except (InvalidTag, ValueError) as error:
            raise CorruptArtifactError(f"a piece of the backup is under another key: {name}") from error

    def put_file(self, path: Path, digest: str) -> tuple[str, ...]:
        """Keep a file whose SHA-256 is known; returns the names of its pieces, in order.

        Raises:
            CorruptArtifactError: the file has another.
        """
        pieces, found = [], hashlib.sha256()
        with path.open("rb") as source:
            while chunk := source.read(PIECE_BYTES):
                found.update(chunk)
                pieces.append(self.put(chunk))
        if found.hexdigest() != digest:
            raise CorruptArtifactError(f"{path} differs from its manifest; it is not backed up")
        return tuple(pieces)

    def copy_to(self, pieces: tuple[str, ...], digest: str, target: Path) -> None:
        """Write a file from its pieces, checked and synced.

        Raises: as `read`.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        found = hashlib.sha256()
        with target.open("wb") as copy:
            for name in pieces:
                chunk = self.read(name)
                found.update(chunk)
                copy.write(chunk)
        sync(target)
        if found.hexdigest() != digest:
            raise CorruptArtifactError(f"a file of the backup is damaged: {target.name}")
