"""Reads the front matter of a note: the plain fields and lists that basic-memory and Obsidian write.

Not a YAML parser: nested values, anchors and texts of several lines are left out.
"""

from __future__ import annotations

import json
import re
from typing import Final

_BLOCK: Final = re.compile(
    r"\A(?:\ufeff)?---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_FIELD: Final = re.compile(r"^(?P<name>[A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(?P<value>.*))?$")
_ELEMENT: Final = re.compile(r"^[ \t]*-[ \t]+(?P<value>.*)$")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#[ \t]")

Fields = dict[str, str | list[str]]


def front_matter(text: str) -> tuple[Fields, str]:
    """The fields of a note, and its text below them; no fields if it has no front matter."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, text
    fields: Fields = {}
    name = ""
    for line in map(str.rstrip, block[1].splitlines()):
        if field := _FIELD.match(line):
            name = field["name"]
            fields[name] = _value(field["value"] or "")
        elif (element := _ELEMENT.match(line)) and name:
            listed = fields[name]
            fields[name] = [*(listed if isinstance(listed, list) else []), _scalar(element["value"])]
    return fields, text[block.end() :]


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
