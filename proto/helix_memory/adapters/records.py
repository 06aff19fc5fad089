"""Items of a framework as documents of Helix, and documents as items: nothing of an item is lost or changed.

An item belongs to a space (a collection, a namespace) and has a name in it. Its space is the session of the
document, so spaces can be listed; its id is also the project, so an item can be looked up. What is no text
(name, metadata) is a note in the URI of the document, which comes back with each of its pieces.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits
from helix_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_memory.client.results import Memory

_SPACE: Final = re.compile(r"\s+")
_DIGITS: Final = 40
"""Of the hash in a name."""


@dataclass(frozen=True, slots=True)
class Record:
    """One item as it is written."""

    document_id: str
    session: str
    body: str
    """The text that is searched."""
    uri: str
    """Holds the note."""

    @classmethod
    def of(
        cls, kind: str, space: Any, name: str, body: str, fields: Mapping[str, Any], *, field: str
    ) -> Record:
        """The record of an item; `fields` are JSON values beside its text.

        Raises:
            InvalidInputError: the note is too long; `field` names what has to be shorter.
        """
        note = {**fields, "space": space, "name": name, "length": len(body), "seen": _seen(body)}
        if white := _white(body):
            note["white"] = white
        uri = f"{kind}:record?{json_of(field, note)}"
        if len(uri) > limits.URI_CHARACTERS:
            most = f"{limits.URI_CHARACTERS:,}"
            reason = f"takes {len(uri):,} characters with its name and line ends; at most {most}"
            raise InvalidInputError(field, reason)
        return cls(document_of(kind, space, name), session_of(kind, space), body, uri)


def session_of(kind: str, space: Any) -> str:
    """The session that holds a space."""
    return f"{kind}-{_hash(space)}"


def document_of(kind: str, space: Any, name: str) -> str:
    """The document that holds an item."""
    return f"{kind}:{_hash([space, name])}"


def json_of(field: str, value: Any) -> str:
    """JSON that gives exactly this value again; its only white space are single characters U+0020.

    Raises:
        InvalidInputError: the value is none of JSON, such as a date, a tuple or NaN; names the field.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(field, f"is no JSON value: {error}") from error
    if not same:
        raise InvalidInputError(field, "would come back changed: use JSON values with names as keys")
    return _SPACE.sub(lambda run: "".join(map(_escaped, run[0])), text)


def value_of(text: str) -> Any:
    """The value of which `json_of` made a text."""
    return json.loads(text)


def note_of(kind: str, memory: Memory) -> dict[str, Any] | None:
    """The note of the record that a memory is a piece of; None if it is of none of this kind.

    Anybody may write such a URI. A note counts where its fields are valid and name the memory's own place.
    """
    head, found, text = memory.source_uri.partition(":record?")
    if not found or head != kind:
        return None
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not _is_note(note):
        return None
    place = document_of(kind, note["space"], note["name"]), session_of(kind, note["space"])
    return note if place == (memory.document_id, memory.session_id) else None


def body_of(note: Mapping[str, Any], pieces: Iterable[Memory]) -> str | None:
    """The text of a record from its pieces, to the last white space; None where pieces are missing.

    Also where the white space of its note is no white space of such a text.
    """
    text = [" "] * note["length"]
    start = 0
    try:
        for distance, run in _runs(note.get("white", "")):
            start += distance
            text[start : start + len(run)] = run
    except (ValueError, RecursionError, zlib.error):
        return None
    found = {piece.char_start: piece for piece in pieces}
    seen = 0
    for start, piece in found.items():
        # the rows of a table have its header before them
        part = piece.text[len(piece.text) - (piece.char_end - start) :]
        text[start : piece.char_end] = part
        seen += _seen(part)
    return "".join(text) if seen == note["seen"] else None


def _white(text: str) -> str:
    """White space other than single blanks, which the cuts between pieces lose; empty where there is none."""
    runs, before = [], 0
    for found in _SPACE.finditer(text):
        if found[0] != " ":
            runs.append([found.start() - before, found[0]])
            before = found.start()
    return base64.b64encode(zlib.compress(json.dumps(runs).encode(), 9)).decode() if runs else ""


def _runs(white: str) -> list[tuple[int, str]]:
    """Each run of `_white` with its distance from the start of the one before."""
    if not white:
        return []
    runs = json.loads(zlib.decompress(base64.b64decode(white)))
    if not isinstance(runs, list) or not all(map(_is_run, runs)):
        raise ValueError("is no list of runs")
    return runs


def _is_run(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004  distance and run
        return False
    distance, run = value
    return _is_count(distance) and isinstance(run, str) and _SPACE.fullmatch(run) is not None


def _is_note(value: Any) -> bool:
    """Whether a value has the fields of a note, each of its type and inside its bounds."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and _is_space(value.get("space"))
        and _is_count(value.get("length"))
        and _is_count(value.get("seen"))
        and isinstance(value.get("white", ""), str)
        and isinstance(value.get("searched", True), bool)
    )


def _is_space(value: Any) -> bool:
    """Whether a value is a name, or a list of names."""
    return all(isinstance(one, str) for one in (value if isinstance(value, list) else [value]))


def _is_count(value: Any) -> bool:
    """Whether a value is a number of characters of one text."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= limits.TEXT_CHARACTERS


def _seen(text: str) -> int:
    """Characters that are no white space."""
    return len(_SPACE.sub("", text))


def _hash(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _escaped(character: str) -> str:
    return character if character == " " else f"\\u{ord(character):04x}"
