"""Requests to derive a message again: sending one, and responding to it.

Request and reply do not go through a stream, so de-duplication does not drop them and no consumer waits for
them. One copy of the worker replies. A request to ingest names the sequence of an event; a request to
doc2query or kg holds the memories message.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nats.aio.msg import Msg

from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED
from helix_shared.broker.dead_letters import header_text
from helix_shared.errors import HelixError, PermanentError, TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.client import Client

_MEMORIES: Final = "memories"
MADE_OF_MEMORIES: Final = ("expansions", "links")
"""Edges whose worker derives its message from that of the memories."""
REQUEST_SECONDS: Final = 20.0
"""Longest wait for a reply: a long document is embedded again."""


@dataclass(frozen=True, slots=True)
class Rederived:
    """A message that was derived again, and what made it: to be published with `headers`."""

    body: bytes
    made_with: str = ""

    def headers(self, sequence: int) -> dict[str, str]:
        """Those of the message of the event at `sequence`."""
        made_with = {subjects.MADE_WITH_HEADER: self.made_with} if self.made_with else {}
        return {subjects.EVENT_SEQUENCE_HEADER: str(sequence), **made_with}


Respond = Callable[[Msg], Awaitable[Rederived]]

_log = logger(__name__)


async def request_derivation(
    client: Client, edge: str, *, sequence: int, model: str = "", memories: bytes = b"", redrive: bool = False
) -> Rederived:
    """The message of an event on `edge`, derived now; `model` is the encoder its memories must be made with.

    `memories` is the message of the memories, which expansions and links are derived from; it is requested
    first if it is not given. What the worker refuses gives a message without rows, and with `redrive` an
    error.

    Raises:
        PermanentError: `redrive`, and the worker refuses the event; with its reason.
        TemporaryError: no worker replies, or it cannot derive the message; the reason is given.
    """
    if edge in MADE_OF_MEMORIES and not memories:
        first = await request_derivation(client, _MEMORIES, sequence=sequence, model=model, redrive=redrive)
        memories = first.body
    headers = {subjects.EVENT_SEQUENCE_HEADER: str(sequence), subjects.MODEL_HEADER: model}
    if redrive:
        headers[subjects.REDRIVE_HEADER] = "1"
    try:
        reply = await client.request(
            subjects.derivation_request_subject(edge), memories, timeout=REQUEST_SECONDS, headers=headers
        )
    except UNANSWERED as error:
        reason = f"no worker derives {edge} of event {sequence} again ({type(error).__name__})"
        raise TemporaryError(reason) from error
    stated = reply.headers or {}
    reason = stated.get(subjects.REASON_HEADER, "")
    if reason and subjects.REDRIVE_HEADER in stated:
        raise PermanentError(reason)
    if reason:
        raise TemporaryError(f"{edge} of event {sequence} are not derived again: {reason}")
    return Rederived(reply.data, stated.get(subjects.MADE_WITH_HEADER, ""))


@contextlib.asynccontextmanager
async def derivation_responder(client: Client, edge: str, respond: Respond) -> AsyncIterator[None]:
    """Inside, reply to requests for `edge`, one at a time; after an error the reply holds the reason."""

    async def reply(request: Msg) -> None:
        try:
            derived = await respond(request)
            body, headers = derived.body, derived.headers(header_sequence(request))
        except HelixError as error:
            body, headers = b"", {subjects.REASON_HEADER: header_text(str(error))}
            if is_redrive(request) and isinstance(error, PermanentError):
                headers[subjects.REDRIVE_HEADER] = "refused"
        except Exception as error:  # noqa: BLE001  the requester gets the reason
            _log.exception("request failed", edge=edge)
            body, headers = b"", {subjects.REASON_HEADER: type(error).__name__}
        # the requester repeats a lost request
        with contextlib.suppress(*UNANSWERED):
            await client.publish(request.reply, body, headers=headers)

    subscription = await client.subscribe(subjects.derivation_request_subject(edge), queue=edge, cb=reply)
    try:
        yield
    finally:
        with contextlib.suppress(*UNANSWERED):
            await subscription.unsubscribe()


def is_redrive(request: Msg) -> bool:
    """Whether the requester wants the reason of a refusal, and not a message without rows."""
    return subjects.REDRIVE_HEADER in (request.headers or {})


def requested_sequence(request: Msg) -> int:
    """The event sequence that a request names.

    Raises:
        TemporaryError: it names none.
    """
    sequence = header_sequence(request)
    if not sequence:
        raise TemporaryError(f"request names no event in {subjects.EVENT_SEQUENCE_HEADER}")
    return sequence


def header_sequence(message: Msg) -> int:
    """The event sequence in the header of a message; 0 if there is none."""
    return subjects.header_number(message.headers, subjects.EVENT_SEQUENCE_HEADER)
