"""Reads the front matter of a note: the plain fields and lists that basic-memory and Obsidian write.

Not a YAML parser: nested values, anchors and blocks of text are left out. A long value goes on in the lines
below it, which are indented.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

_BLOCK: Final = re.compile(
    r"\A(?:\ufeff)?---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_FIELD: Final = re.compile(r"^(?P<name>[A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(?P<value>.*))?$")
_ELEMENT: Final = re.compile(r"^(?P<indent>[ \t]*)-[ \t]+(?P<value>.*)$")
_WHITE: Final = (" ", "\t")
_QUOTES: Final = ("'", '"')
_BLOCKS: Final = ("|", "|-", "|+", ">", ">-", ">+")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#[ \t]")

Fields = dict[str, str | list[str]]


@dataclass(slots=True)
class _Field:
    """A field with the lines of its value and of each of its elements."""

    name: str
    value: list[str]
    elements: list[list[str]] = field(default_factory=list)
    indent: str = ""
    """Of the elements."""

    def take(self, line: str) -> None:
        """Take one more line: an element, or more of what is there; a nested value is left out."""
        element = _ELEMENT.match(line)
        is_listed = not self.value[0] or _COMMENT.match(self.value[0])
        if element and (element["indent"] == self.indent if self.elements else is_listed):
            self.indent = element["indent"]
            self.elements.append([element["value"]])
        elif line.startswith(_WHITE):
            begun, more = (self.elements[-1] if self.elements else self.value), line.strip()
            if begun[0].startswith(_QUOTES) or (begun[0] and not _FIELD.match(more)):
                begun.append(more)


def front_matter(text: str) -> tuple[Fields, str]:
    """The fields of a note, and its text below them; no fields if it has no front matter."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, text
    found: list[_Field] = []
    for line in map(str.rstrip, block[1].splitlines()):
        if begins := _FIELD.match(line):
            found.append(_Field(begins["name"], [begins["value"] or ""]))
        elif found:
            found[-1].take(line)
    fields: Fields = {
        one.name: [_scalar(_joined(lines)) for lines in one.elements]
        if one.elements
        else _value(_joined(one.value))
        for one in found
    }
    return fields, text[block.end() :]


def _joined(lines: list[str]) -> str:
    """A value in one line; a line that ends with a backslash in double quotes goes on without a blank."""
    if lines[0] in _BLOCKS:
        return ""
    is_quoted, parts = lines[0].startswith('"'), [lines[0]]
    for line in lines[1:]:
        if is_quoted and parts[-1].endswith("\\"):
            parts[-1] = parts[-1][:-1]
            parts.append(line[1:] if line.startswith("\\ ") else line)
        else:
            parts += [" ", line]
    return "".join(parts)


def one(fields: Fields, name: str) -> str:
    """A field as a text; of a list its elements with commas."""
    found = fields.get(name, "")
    return found if isinstance(found, str) else ", ".join(found)


def listed(fields: Fields, name: str) -> list[str]:
    """A field as a list; of a text what stands between commas."""
    found = fields.get(name, "")
    elements = found.split(",") if isinstance(found, str) else found
    return [element.strip().lstrip("#") for element in elements if element.strip()]


def _value(value: str) -> str | list[str]:
    if value.startswith("[") and value.endswith("]"):
        return [_scalar(element.strip()) for element in value[1:-1].split(",") if element.strip()]
    return _scalar(value)


def _scalar(value: str) -> str:
    """A value without its quotes and without a comment behind it."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    comment = _COMMENT.search(value)
    return value if comment is None else value[: comment.start()]
