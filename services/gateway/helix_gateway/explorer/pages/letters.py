"""Dead letters: what was refused and why, of every tenant, so for the role admin alone.

A writer redrives and drops them: the gateway asks it (`helix_memory.transport.letter_requests`, 0100).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.explorer.rendering import url
from helix_memory import subjects
from helix_memory.transport.dead_letters import Filter
from helix_memory.transport.letter_requests import MOST_WAIT_SECONDS, LetterRequest
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_gateway.explorer.asked import Asked
    from helix_gateway.explorer.broker import Broker
    from helix_memory.transport.letter_requests import Action, Redriven

SIZE: Final = 50
READ_BYTES: Final = 200_000
SHOWN_CHARACTERS: Final = 20_000
SHOWN_DEPTH: Final = 40
"""Of nested JSON that is indented."""
NUMBER_DIGITS: Final = 15
WAIT_SHARE: Final = 0.6
"""Of the time of a request: for the generation; the rest is for deriving the message again."""
SAID: Final = {
    "processed": "processed: a generation holds the event, and the letter is gone",
    "dropped": "dropped: what was refused stays in the log, without effect",
    "refused": "refused again, with a new letter",
    "waiting": "not in a generation yet: the letter stays, redrive it again in a while",
    "not possible": "gone, or of a kind that nothing can process again",
}
"""What became of letters, by the state that a writer replies."""


class Letters:
    """Builds the list and the page of one letter, and has letters redriven or dropped."""

    def __init__(self, broker: Broker, *, wait_seconds: float) -> None:
        """`wait_seconds`: the longest time in which a request of the page is done."""
        self._broker = broker
        self._wait_seconds = min(MOST_WAIT_SECONDS, WAIT_SHARE * wait_seconds)

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
            "said": _said(asked),
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
            "said": _said(asked),
        }

    async def redrive(self, asked: Asked, fields: dict[str, str]) -> str:
        """Have letters processed again; the page then says what became of them."""
        return await self._settle("redrive", asked, fields)

    async def drop(self, asked: Asked, fields: dict[str, str]) -> str:
        """Have letters removed; their events stay in the log, without effect."""
        return await self._settle("drop", asked, fields)

    async def _settle(self, action: Action, asked: Asked, fields: dict[str, str]) -> str:
        named = fields.get("letters", "").split(",")
        credential = asked.caller.credential
        client = asked.request.client
        outcomes = await self._broker.settle(
            LetterRequest(
                action,
                tuple(_sequence("letters", one) for one in named),
                wait_seconds=self._wait_seconds,
                credential=credential.id if credential else "",
                user_id=asked.caller.user,
                roles=tuple(sorted(credential.roles)) if credential else (),
                address=client.host if client else "",
            )
        )
        return _page_after(outcomes)


def _page_after(outcomes: list[Redriven]) -> str:
    """The list with what was done; of a single letter that is still there its own page."""
    done = [f"{state}:{count}" for state, count in Counter(one.state for one in outcomes).items()]
    left = {one.new_letter or one.letter for one in outcomes if one.state in {"refused", "waiting"}}
    path = f"/letters/{left.pop()}" if len(outcomes) == len(left) == 1 else "/letters"
    return url(path, done=done)


def _said(asked: Asked) -> list[str]:
    """What was done, by the words and numbers in the address."""
    parts = [one.partition(":") for one in asked.texts("done")]
    return [f"{_sequence('done', number)} {SAID[state]}" for state, _, number in parts if state in SAID]


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
