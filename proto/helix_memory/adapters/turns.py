"""Messages of a framework as turns of a conversation in Helix."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

from helix_memory import limits
from helix_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_memory.client import Written

_TOKEN: Final = re.compile(limits.TOKEN_PATTERN)
_RESERVED: Final = "-"
_DIGITS: Final = 40


def session_token(session: str) -> str:
    """The session of Helix for a session of any name: the same name where that is a token, else its hash."""
    if not session or (_TOKEN.fullmatch(session) and session != _RESERVED):
        return session
    return f"s-{digest(session)}"


def digest(*parts: str) -> str:
    """Hash of several texts, the same in every process."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


async def each_written(writes: Iterable[Awaitable[Written]], note: Callable[[Written], None]) -> None:
    """Await writes in order and note each; one that is refused keeps no later one from being written.

    Raises:
        InvalidInputError: the first refusal, after all others are written.
    """
    refused: InvalidInputError | None = None
    for write in writes:
        try:
            note(await write)
        except InvalidInputError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def last_question(texts: list[str]) -> str:
    """What a conversation asks now: its last text that says something, at most as long as a query may be.

    Of a longer one the end counts, because a request stands behind what it is about.
    """
    said = [text.strip() for text in texts if text.strip()]
    return said[-1][-limits.QUERY_CHARACTERS :].strip() if said else ""
