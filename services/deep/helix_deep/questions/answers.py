"""Reads and checks answers. Nothing is believed: what breaks a limit is dropped and counted by its reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from helix_shared.endpoint.json_text import items_of, object_in
from helix_shared.endpoint.passages import plain

T = TypeVar("T")


@dataclass(slots=True)
class Checked(Generic[T]):
    """What passed, and how many items were dropped by reason."""

    items: list[T] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def read_list(text: str, name: str) -> tuple[dict[str, Any], list[Any]] | None:
    """The JSON object in a reply, and its list `name`; None: there is none."""
    found, _ = object_in(text, (name,))
    return None if found is None else (found, items_of(found, name))


def read_texts(text: str, name: str, *, most: int, characters: int, question: str) -> Checked[str]:
    """Texts of the list `name`: on one line, no longer than `characters`, each once, at most `most`.

    An empty text, and one that is the question itself, are dropped as well.
    """
    checked = Checked[str]()
    answer = read_list(text, name)
    if answer is None:
        checked.dropped["no answer"] += 1
        return checked
    known = {plain(question).casefold()}
    for item in answer[1]:
        line = plain(item) if isinstance(item, str) else ""
        if not any(map(str.isalnum, line)):
            checked.dropped["schema"] += 1
        elif len(line) > characters:
            checked.dropped["long"] += 1
        elif line.casefold() in known:
            checked.dropped["repeated"] += 1
        elif len(checked.items) == most:
            checked.dropped["too many"] += 1
        else:
            known.add(line.casefold())
            checked.items.append(line)
    return checked


def read_numbers(text: str, name: str, *, count: int) -> Checked[int]:
    """Integers of the list `name`, 1 to `count`, each once."""
    checked = Checked[int]()
    answer = read_list(text, name)
    if answer is None:
        checked.dropped["no answer"] += 1
        return checked
    for item in answer[1]:
        if type(item) is not int or not 1 <= item <= count:
            checked.dropped["number"] += 1
        elif item in checked.items:
            checked.dropped["repeated"] += 1
        else:
            checked.items.append(item)
    return checked


def list_schema(name: str, item: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    """JSON schema of an answer with the list `name`, in the subset that strict modes accept."""
    properties: dict[str, Any] = {name: {"type": "array", "items": item}, **others}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
