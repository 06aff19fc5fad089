"""The text of a JSON value: what a search reads of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def text_of(value: Any) -> str:
    """A line for each value in it, with its name before it: `food: I love pizza`."""
    return "\n".join(line for line in _lines("", value) if line.strip())


def _lines(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _lines(str(inner), one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _lines(name, one)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)
