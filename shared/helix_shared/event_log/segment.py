r"""A segment: a file of records and gaps, each with its length and checksum, in the order of the log.

    HELIXLOG 1\n
    length (4 bytes) crc32 (4 bytes) payload
    ...

A payload is a line of JSON and, after it, the body of the message. Numbers are little-endian. A gap stands
for sequences that the log no longer has, or that were erased, with the reason: every sequence is accounted
for. A record that was cut off by a kill has no valid checksum and ends the file.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, Final

from helix_shared.errors import CorruptArtifactError
from helix_shared.event_log.record import EventRecord

MAGIC: Final = b"HELIXLOG 1\n"
RECORD_BYTES: Final = 16 * 1024 * 1024
"""Longest payload."""
_FRAME: Final = struct.Struct("<II")


@dataclass(frozen=True, slots=True)
class Gap:
    """Sequences without a record, and why."""

    first: int
    last: int
    reason: str


Entry = EventRecord | Gap


def last_of(entry: Entry) -> int:
    """The last sequence of an entry."""
    return entry.last if isinstance(entry, Gap) else entry.sequence


def first_of(entry: Entry) -> int:
    """The first sequence of an entry."""
    return entry.first if isinstance(entry, Gap) else entry.sequence


def encoded(entry: Entry) -> bytes:
    """An entry as it stands in a segment."""
    if isinstance(entry, Gap):
        head, body = {"gap": [entry.first, entry.last], "reason": entry.reason}, b""
    else:
        head, body = replace(entry, body=b"").fields, entry.body
        del head["body"]
    payload = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" + body
    return _FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def read_entries(source: IO[bytes], name: str) -> Iterator[tuple[Entry, int]]:
    """Every entry with the offset of its end; ends without an error at a record that was cut off.

    Raises:
        CorruptArtifactError: the file is no segment, or a record is damaged and others follow it.
    """
    magic = source.read(len(MAGIC))
    if magic != MAGIC:
        if MAGIC.startswith(magic):
            return
        raise CorruptArtifactError(f"{name} is no segment of an archive")
    end = len(MAGIC)
    while frame := source.read(_FRAME.size):
        if len(frame) < _FRAME.size:
            return
        length, checksum = _FRAME.unpack(frame)
        if length == 0 and not (checksum or source.read().strip(b"\0")):
            return  # a power cut may leave zeros
        payload = source.read(length) if length <= RECORD_BYTES else b""
        if len(payload) < length or zlib.crc32(payload) != checksum:
            if length <= RECORD_BYTES and not source.read(1):
                return
            raise CorruptArtifactError(f"{name} is damaged after byte {end}")
        end += _FRAME.size + length
        yield _decoded(payload, name, end), end


def _decoded(payload: bytes, name: str, end: int) -> Entry:
    head, _, body = payload.partition(b"\n")
    try:
        fields = json.loads(head)
        if "gap" in fields:
            first, last = fields["gap"]
            return Gap(int(first), int(last), str(fields["reason"]))
        return replace(EventRecord.of_fields({**fields, "body": ""}), body=body)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(f"{name} holds no event before byte {end}") from error
