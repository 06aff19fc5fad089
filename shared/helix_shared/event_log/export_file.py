"""The lines of an export: a header, one line for each answer and event, and a trailer.

    {"format":"helix-export","version":1,"helix":"0.1.0",...,"crc":"8c736521"}
    {"type":"answer","seq":3,"subject":"helix.v1.answers....",...,"crc":"..."}
    {"type":"event","seq":17,"subject":"helix.v1.events....","stored_at":"...","id":"...","body":"...","crc":"..."}
    {"type":"end","events":1,"answers":1,"sha256":"...","crc":"..."}

`crc` is the CRC-32 of its line up to the comma before it, so a changed line is named. `sha256` is that of
all bytes before the trailer, so a missing, added or moved line is noticed. Answers come first: an importing
worker finds them before the event that needs them. The file may be compressed with gzip.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final, cast

from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.event_log.record import EventRecord

FORMAT: Final = "helix-export"
VERSION: Final = 1
"""A reader takes this version and all earlier ones, for ever (ops/decisions/0069)."""
EVENT: Final = "event"
ANSWER: Final = "answer"
END: Final = "end"
LINE_BYTES: Final = 16 * 1024 * 1024
"""Longest line that a reader takes: several times the largest event."""
COMPRESSION_ERRORS: Final = (gzip.BadGzipFile, zlib.error, EOFError)
_GZIP: Final = b"\x1f\x8b"
_START: Final = b'{"format":"helix-export"'
_CRC: Final = b',"crc":"'
_CRC_BYTES: Final = len(_CRC) + len(b'00000000"}\n')


@dataclass(frozen=True, slots=True)
class ExportHeader:
    """What the first line says; `events` and `answers` are the numbers of the lines that follow."""

    helix: str
    model: str
    rules: str
    tenants: list[str]
    events: int
    answers: int = 0
    last_sequence: int = 0
    """Events of the log up to this one were read."""
    left_out: int = 0
    """Events that were left out because what they say is erased."""


@dataclass(frozen=True, slots=True)
class ExportLine:
    """One event or answer with the number of its line, from 1."""

    number: int
    kind: str
    record: EventRecord


def is_export(first: bytes) -> bool:
    """Whether a file that begins with these bytes is an export."""
    return first.startswith(_START)


@contextlib.contextmanager
def opened_export(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of an export, which may be compressed with gzip; a part at a time is in memory.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stored:
        is_compressed = stored.read(len(_GZIP)) == _GZIP
        stored.seek(0)
        if is_compressed:
            with gzip.GzipFile(fileobj=stored) as source:
                yield cast("IO[bytes]", source)
        else:
            yield stored


class ExportWriter:
    """Writes one export; nothing is kept in memory."""

    def __init__(self, target: IO[bytes], header: ExportHeader) -> None:
        self._target = target
        self._digest = hashlib.sha256()
        self._counts = {EVENT: 0, ANSWER: 0}
        self._told = {"events": header.events, "answers": header.answers}
        self.size_bytes = 0
        self._write({"format": FORMAT, "version": VERSION, **asdict(header)})

    def add(self, kind: str, record: EventRecord) -> None:
        """Write one line."""
        self._counts[kind] += 1
        self._write({"type": kind, **record.fields})

    def finish(self) -> str:
        """Write the trailer; returns the SHA-256 in it.

        Raises:
            TemporaryError: other lines were written than the header says, as after an erasure meanwhile.
        """
        counts = {"events": self._counts[EVENT], "answers": self._counts[ANSWER]}
        if counts != self._told:
            raise TemporaryError(
                f"the export has {counts['events']} events and {counts['answers']} answers, of "
                f"{self._told['events']} and {self._told['answers']}: some were erased meanwhile; try again"
            )
        digest = self._digest.hexdigest()
        self._write({"type": END, **counts, "sha256": digest})
        self._target.flush()
        return digest

    def _write(self, fields: dict[str, Any]) -> None:
        body = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
        line = body + _CRC + f'{zlib.crc32(body):08x}"}}\n'.encode()
        self._digest.update(line)
        self.size_bytes += len(line)
        self._target.write(line)


@dataclass(slots=True)
class ExportReader:
    """Reads one export from its start; `lines` may be read once.

    The header is read at once.

    Raises:
        CorruptArtifactError: a line is damaged or missing, or of a later format; names its number.
    """

    source: IO[bytes]
    name: str = "export"
    header: ExportHeader = field(init=False)
    _digest: Any = field(init=False, default_factory=hashlib.sha256)
    _number: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        fields = self._next()
        if fields is None or fields.get("format") != FORMAT:
            raise self._damaged("is no header of an export")
        if not isinstance(fields.get("version"), int) or not 1 <= fields["version"] <= VERSION:
            raise self._damaged(f"is of format {fields.get('version')}, this release reads up to {VERSION}")
        try:
            self.header = ExportHeader(**{name: fields[name] for name in ExportHeader.__dataclass_fields__})
        except KeyError as error:
            raise self._damaged(f"lacks the field {error}") from error

    def lines(self) -> Iterator[ExportLine]:
        """Every event and answer in the order of the file; the trailer is compared at the end.

        Raises: as the class.
        """
        counts = {EVENT: 0, ANSWER: 0}
        last = dict(counts)
        while (fields := self._next()) is not None:
            kind = fields.get("type")
            if kind == END:
                self._check_end(fields, counts)
                return
            if kind not in counts:
                raise self._damaged("is neither an event nor an answer")
            try:
                record = EventRecord.of_fields(fields)
            except ValueError as error:
                raise self._damaged(str(error)) from error
            if record.sequence <= last[kind]:
                raise self._damaged("has a sequence that does not follow the one before")
            last[kind] = record.sequence
            counts[kind] += 1
            yield ExportLine(self._number, kind, record)
        raise self._damaged("is missing: the file was cut off", after=True)

    def _next(self) -> dict[str, Any] | None:
        """The fields of the next line; None at the end of the file."""
        before = self._digest.copy()
        try:
            line = self.source.readline(LINE_BYTES + 1)
        except COMPRESSION_ERRORS as error:
            raise self._damaged(f"cannot be decompressed: {error}", after=True) from error
        if not line:
            return None
        self._number += 1
        if len(line) > LINE_BYTES:
            raise self._damaged(f"is longer than {LINE_BYTES} bytes")
        if not line.endswith(b"\n"):
            raise self._damaged("is cut off")
        body, end = line[:-_CRC_BYTES], line[-_CRC_BYTES:]
        if end != _CRC + f'{zlib.crc32(body):08x}"}}\n'.encode():
            raise self._damaged("was changed: its checksum differs")
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._damaged("is not JSON") from error
        if not isinstance(fields, dict):
            raise self._damaged("is no JSON object")
        if fields.get("type") == END:
            self._digest = before
        else:
            self._digest.update(line)
        return fields

    def _check_end(self, fields: dict[str, Any], counts: dict[str, int]) -> None:
        told = {EVENT: fields.get("events"), ANSWER: fields.get("answers")}
        if told != counts or fields.get("sha256") != self._digest.hexdigest():
            raise self._damaged(
                f"does not fit the lines before it: a line was removed, added or moved; "
                f"it names {told}, found {counts}"
            )
        if counts != {EVENT: self.header.events, ANSWER: self.header.answers}:
            raise self._damaged("does not fit the numbers in the header")
        try:
            is_last = not self.source.readline(1)
        except COMPRESSION_ERRORS as error:
            raise self._damaged(f"is followed by what cannot be decompressed: {error}") from error
        if not is_last:
            raise self._damaged("is not the last one")

    def _damaged(self, what: str, *, after: bool = False) -> CorruptArtifactError:
        number = self._number + after
        return CorruptArtifactError(f"{self.name}: line {number} {what}; nothing was taken from it")
