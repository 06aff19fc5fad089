"""The records of an export with their places: a file of JSON or JSON lines, or an archive of such files.

An array or an object is read element by element, so that each record has its line, and so that those before a
broken place are still read. A file may be compressed with gzip; the files of a zip archive are read in order.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import Item
from helix_shared.sources.json_records import json_lines
from helix_shared.sources.source_event import Refusal

EXPORT_BYTES: Final = 256 * 1024 * 1024
"""Limit of one file after it is unpacked."""

LINES: Final = 20
LINES_BYTES: Final = 1024 * 1024
"""What is looked at to tell JSON lines from one array or object."""

_ZIP: Final = b"PK\x03\x04"
_GZIP: Final = b"\x1f\x8b"
_UNREADABLE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)
"""Also of the names of files in an archive."""
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Part:
    """One value of an export: a record, or the object that holds lists of records."""

    where: str
    value: Any
    file: str = ""
    """Path inside an archive."""
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Places of the elements of each list in the object."""

    def records(self, name: str) -> Iterator[tuple[str, Any]]:
        """The elements of a list of the object with their places; none if it has no such list."""
        found = self.value.get(name) if isinstance(self.value, dict) else None
        elements = found if isinstance(found, list) else []
        places = self.places.get(name) or [self.where] * len(elements)
        yield from zip(places, elements, strict=True)


def export_items(path: Path, read: Callable[[Part], Iterable[Item]]) -> Iterator[Item]:
    """The items that `read` makes of every part of an export; a value that breaks a rule is refused.

    Raises:
        OSError: the file cannot be read.
    """
    for part in parts_of(path):
        if isinstance(part, Refusal):
            yield part
        else:
            yield from read(part)


def refusing(where: str, items: Iterator[Item]) -> Iterator[Item]:
    """The items of one record up to an `InvalidInputError`, which becomes its refusal."""
    try:
        yield from items
    except InvalidInputError as error:
        yield Refusal(where, error.field, error.reason)


def parts_of(path: Path) -> Iterator[Part | Refusal]:
    """Every value of an export in order.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            for name, file, content in _files(stream, str(path)):
                yield from _parts(content, name, file) if isinstance(content, bytes) else [content]
    except _UNREADABLE as error:
        yield Refusal(str(path), "file", f"is damaged or encrypted: {error}")


def first_parts(path: Path) -> Iterator[Part]:
    """The values at the beginning of a file.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        compressed = stream.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
        try:
            head = (gzip.GzipFile(fileobj=stream) if compressed else stream).read(LINES_BYTES)
        except _UNREADABLE:
            return
    for part in _parts(head, str(path), ""):
        if isinstance(part, Part):
            yield part


def names_in_archive(path: Path) -> list[str]:
    """Names of the files of a zip archive; none if it is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [info.filename for info in archive.infolist() if not info.is_dir()]
    except _UNREADABLE:
        return []


def json_in_archive(path: Path, name: str) -> object:
    """The value of one file of a zip archive; None if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            return json.loads(member.read(LINES_BYTES))
    except (*_UNREADABLE, KeyError, ValueError, RecursionError):
        return None


def _files(stream: IO[bytes], name: str) -> Iterator[tuple[str, str, bytes | Refusal]]:
    """Name, path inside the archive and content of every file."""
    start = stream.read(len(_ZIP))
    stream.seek(0)
    if start != _ZIP:
        yield name, "", _unpacked(stream, name)
        return
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                whole = f"{name}/{info.filename}"
                with archive.open(info) as member:
                    yield whole, info.filename, _unpacked(io.BufferedReader(member), whole)


def _unpacked(stream: Any, name: str) -> bytes | Refusal:
    compressed = stream.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
    content: bytes = (gzip.GzipFile(fileobj=stream) if compressed else stream).read(EXPORT_BYTES + 1)
    if len(content) > EXPORT_BYTES:
        return Refusal(name, "file", f"has more than {EXPORT_BYTES} bytes; export it in parts")
    return content


def _parts(content: bytes, name: str, file: str) -> Iterator[Part | Refusal]:
    if _is_lines(content):
        for where, record in json_lines(io.BytesIO(content), name):
            yield record if isinstance(record, Refusal) else Part(where, record, file)
        return
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # a head that ends inside a character
            text = content[: error.start].decode("utf-8-sig")
        else:
            yield Refusal(name, "file", f"is not UTF-8 at byte {error.start}")
            return
    yield from _Scanner(text, name).parts(file)


def _is_lines(content: bytes) -> bool:
    """Whether most of the first lines are whole objects."""
    lines = content[:LINES_BYTES].removeprefix(b"\xef\xbb\xbf").splitlines()
    if len(content) > LINES_BYTES and len(lines) > 1:
        del lines[-1]
    first = [line for line in lines if line.strip()][:LINES]
    return 2 * sum(map(_is_object, first)) > len(first)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


class _Scanner:
    """Reads arrays and objects, one or several after another, and counts lines."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        self._at, self._counted, self._line = 0, 0, 1

    def parts(self, file: str) -> Iterator[Part | Refusal]:
        """The elements of each array, and each object; a refusal where the text is broken ends them."""
        while self._next():
            yield from self._part(file)

    def _part(self, file: str) -> Iterator[Part | Refusal]:
        values: dict[str, Any] = {}
        places: dict[str, list[str]] = {}
        where = self._where()
        broken: Refusal | None = None
        try:
            if self._next() == "[":
                for place, value in self._elements():
                    yield Part(place, value, file)
            else:
                self._object(values, places)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            broken = Refusal(self._where(), "line", f"no JSON: {reason}; what follows is not read")
            self._at = len(self._text)
        if values:
            yield Part(where, values, file, places)
        if broken is not None:
            yield broken

    def _object(self, values: dict[str, Any], places: dict[str, list[str]]) -> None:
        self._take("{")
        while self._next() != "}":
            key = self._name_of_field()
            self._take(":")
            if self._next() != "[":
                values[key] = self._value()
                places.pop(key, None)  # of a list under the same name before
            else:
                found = values[key] = []
                lines = places[key] = []
                for place, value in self._elements():
                    lines.append(place)
                    found.append(value)
            if self._next() != ",":
                break
            self._at += 1
        self._take("}")

    def _name_of_field(self) -> str:
        if self._next() != '"':
            raise json.JSONDecodeError("expecting a name in double quotes", self._text, self._at)
        return str(self._value())

    def _elements(self) -> Iterator[tuple[str, Any]]:
        self._take("[")
        while self._next() != "]":
            yield self._where(), self._value()
            if self._next() != ",":
                break
            self._at += 1
        self._take("]")

    def _next(self) -> str:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _take(self, expected: str) -> None:
        if self._next() != expected:
            raise json.JSONDecodeError(f"expecting '{expected}'", self._text, self._at)
        self._at += 1

    def _value(self) -> Any:
        self._next()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def _where(self) -> str:
        self._next()
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return f"{self._name}:{self._line}"
