"""Requests to redrive or drop dead letters: what the gateway sends, and what a writer replies.

The gateway has no rights to derive, store or remove anything itself. It checks that its caller has the role
admin, and asks a writer (`helix_consolidation.redriving`). NATS lets nobody but the gateway and the operator
publish on the subject.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal, Self, get_args

from nats.errors import NoRespondersError

from helix_memory import subjects
from helix_memory.errors import InvalidInputError, TemporaryError
from helix_memory.transport.connection import UNANSWERED

if TYPE_CHECKING:
    from nats.aio.client import Client

MOST_LETTERS: Final = 100
"""Letters of one request."""
MOST_WAIT_SECONDS: Final = 60.0

Action = Literal["redrive", "drop"]
State = Literal["processed", "refused", "waiting", "not possible", "dropped"]


@dataclass(frozen=True, slots=True)
class Redriven:
    """What became of one letter.

    `processed`: a generation holds it, and the letter is gone. `refused`: again, `new_letter` says why.
    `waiting`: the letter stays, and redriving it again goes on. `not possible`: nothing can process it, or it
    is gone. `dropped`: the letter is removed, and its event stays without effect.
    """

    letter: int
    state: State
    reason: str = ""
    new_letter: int = 0


@dataclass(frozen=True, slots=True)
class LetterRequest:
    """What is done with letters, and who asks, for the audit stream."""

    action: Action
    letters: tuple[int, ...]
    """Their sequences in HELIX_DLQ, 1 to `MOST_LETTERS` of them."""
    wait_seconds: float = 0.0
    """How long a redrive waits for a generation, at most `MOST_WAIT_SECONDS`."""
    credential: str = ""
    user_id: str = ""
    roles: tuple[str, ...] = ()
    address: str = ""

    def __post_init__(self) -> None:
        """Refuse what is out of bounds.

        Raises:
            InvalidInputError: it names the field and the limit.
        """
        if self.action not in get_args(Action):
            raise InvalidInputError("action", f"must be one of {', '.join(get_args(Action))}")
        are_sequences = all(isinstance(one, int) and one > 0 for one in self.letters)
        if not are_sequences or not 1 <= len(self.letters) <= MOST_LETTERS:
            raise InvalidInputError("letters", f"must be 1 to {MOST_LETTERS} sequences of letters")
        if not 0 <= self.wait_seconds <= MOST_WAIT_SECONDS:
            raise InvalidInputError("wait_seconds", f"must be from 0 to {MOST_WAIT_SECONDS:g}")

    def encode(self) -> bytes:
        """The body of the request."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The request that a body holds.

        Raises:
            InvalidInputError: it holds none, or a field is out of bounds.
        """
        try:
            fields = json.loads(body)
            lists = {name: tuple(fields[name]) for name in ("letters", "roles")}
            return cls(**(fields | lists))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidInputError("request", "must be JSON with the fields of a letter request") from error


def encode_outcomes(outcomes: Sequence[Redriven]) -> bytes:
    """The body of a reply."""
    return json.dumps([asdict(one) for one in outcomes], separators=(",", ":")).encode()


async def request_letters(client: Client, request: LetterRequest, *, seconds: float) -> list[Redriven]:
    """Ask a writer, and wait up to `seconds` for what became of each letter.

    Raises:
        TemporaryError: no writer runs, or it did not finish; a redrive may be repeated.
    """
    try:
        reply = await client.request(subjects.LETTER_REQUESTS, request.encode(), timeout=seconds)
    except NoRespondersError as error:
        raise TemporaryError("no writer runs that could do it; start consolidation") from error
    except UNANSWERED as error:
        raise TemporaryError(
            f"the writer did not finish within {seconds:g} s ({type(error).__name__}); it goes on, and "
            "repeating the request changes nothing twice"
        ) from error
    if reason := (reply.headers or {}).get(subjects.REASON_HEADER, ""):
        raise TemporaryError(reason)
    return [Redriven(**one) for one in json.loads(reply.data)]
