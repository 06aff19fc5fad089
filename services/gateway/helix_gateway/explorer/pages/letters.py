"""Dead letters: what was refused and why, of every tenant, so for the role admin alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from helix_memory import subjects
from helix_memory.transport.dead_letters import Filter
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_gateway.explorer.asked import Asked
    from helix_gateway.explorer.broker import Broker

SIZE: Final = 50
READ_BYTES: Final = 200_000
SHOWN_CHARACTERS: Final = 20_000
SHOWN_DEPTH: Final = 40
"""Of nested JSON that is indented."""
NUMBER_DIGITS: Final = 15


class Letters:
    """Builds the list and the page of one letter."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def build(self, asked: Asked) -> dict[str, Any]:
        """The newest letters that the filters leave."""
        service, tenant = _token(asked, "service"), _token(asked, "tenant")
        only = Filter(service, tenant, asked.text("reason"))
        before = _sequence("before", asked.text("before")) if asked.text("before") else 0
        letters = await self._broker.letters(limit=SIZE, before=before, only=only)
        return {
            "title": "Dead letters",
            "letters": letters,
            "chosen": {"service": service, "tenant": tenant, "reason": only.reason},
            "next": letters[-1].sequence if len(letters) == SIZE else 0,
        }

    async def one(self, asked: Asked) -> dict[str, Any]:
        """One letter with its body."""
        letter, body = await self._broker.letter(_sequence("sequence", asked.request.path_params["sequence"]))
        return {
            "title": f"Dead letter {letter.sequence}",
            "letter": letter,
            "body": readable(body),
            "limit": SHOWN_CHARACTERS,
            "rule": letter.broken_rule,
        }


def readable(body: bytes) -> str:
    """A body for people: indented JSON, other text as it is, anything else as its size.

    A tenant wrote it, so the work is bounded: JSON that is nested deeper than `SHOWN_DEPTH` stays as it is,
    and indenting ends after `SHOWN_CHARACTERS`, which is what the page shows.
    """
    if len(body) > READ_BYTES:
        return f"({len(body)} bytes; `helix dlq show` has all)"
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"({len(body)} bytes of binary data)"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _indented(value) if _is_shallow(value) else text


def _indented(value: Any) -> str:
    parts, length = [], 0
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value):
        parts.append(part)
        length += len(part)
        if length > SHOWN_CHARACTERS:
            break
    return "".join(parts)


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(SHOWN_DEPTH):
        level = [inner for one in level for inner in _parts(one)]
        if not level:
            return True
    return False


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _token(asked: Asked, name: str) -> str:
    value = asked.text(name)
    if value and not subjects.is_token(value):
        raise InvalidInputError(name, "must be letters, digits, - and _")
    return value


def _sequence(field: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS and int(text)):
        raise InvalidInputError(field, "must be the sequence of a letter, 1 and up")
    return int(text)
