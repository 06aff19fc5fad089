"""Dead letters: what was refused and why, of every tenant, so for the role admin alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from helix_memory import subjects
from helix_memory.transport.dead_letters import Filter
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_gateway.explorer.asked import Asked
    from helix_gateway.explorer.broker import Broker

SIZE: Final = 50
SHOWN_BYTES: Final = 200_000
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
            "rule": letter.broken_rule,
        }


def readable(body: bytes) -> str:
    """A body for people: indented JSON, other text as it is, anything else as its size."""
    if len(body) > SHOWN_BYTES:
        return f"({len(body)} bytes; `helix dlq show` has all)"
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"({len(body)} bytes of binary data)"
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _token(asked: Asked, name: str) -> str:
    value = asked.text(name)
    if value and not subjects.is_token(value):
        raise InvalidInputError(name, "must be letters, digits, - and _")
    return value


def _sequence(field: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS and int(text)):
        raise InvalidInputError(field, "must be the sequence of a letter, 1 and up")
    return int(text)
