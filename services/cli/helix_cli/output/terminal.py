"""Printing: text from outside loses control characters, so that it cannot send escape sequences.

Results go to standard output; errors, notes and progress to standard error.
"""

from __future__ import annotations

import unicodedata
from typing import Any, Final

import typer
from rich.console import Console
from rich.text import Text

ID_CHARACTERS: Final = 8
"""Of an id in a table; commands take the beginning of an id, and `--json` prints whole ids."""
_ALLOWED_CONTROLS: Final = "\n\t"
_DIRECTIONS: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """`text` with control characters and writing-direction marks replaced by U+FFFD."""
    return "".join("\ufffd" if _is_control(c) else c for c in text)


def plain(text: str) -> Text:
    """Text from outside for rich: without markup and control characters."""
    return Text(printable(text))


def one_line(text: str, *, characters: int) -> str:
    """`text` on one line of at most `characters`; a cut text ends in an ellipsis."""
    joined = " ".join(text.split())
    return joined if len(joined) <= characters else joined[: characters - 1].rstrip() + "…"


def complain(message: str) -> None:
    """Print an error as one line on standard error."""
    typer.echo(f"error: {printable(' '.join(message.split()))}", err=True)


def note(message: str) -> None:
    """Print a note on standard error."""
    typer.echo(printable(message), err=True)


def print_message(message: Any) -> None:
    """Print a protobuf message as JSON on standard output; an empty list is `[]`, a number or text is there.

    What is absent is a message or an optional field without a value.
    """
    from google.protobuf import json_format  # type: ignore[import-untyped] # noqa: PLC0415  slow to import

    typer.echo(
        json_format.MessageToJson(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
    )


def stdout() -> Console:
    """A console on standard output; created per call, because tests replace the stream."""
    return Console(highlight=False)


def size(count: float) -> str:
    """Bytes for people."""
    step = 1024.0
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < step:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= step
    return f"{count:.1f} TiB"


def _is_control(character: str) -> bool:
    if character in _ALLOWED_CONTROLS:
        return False
    return character in _DIRECTIONS or unicodedata.category(character) in {"Cc", "Cs"}
