"""Redrives and drops dead letters for the gateway, which may not do it itself (ops/decisions/0100).

Every writer process responds, also one that stands by: one of them gets a request. The work is that of `helix
dlq`, so it is exact in the same way: a request that is repeated changes nothing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from helix_consolidation.redriving.redrive import letter_at, redrive, remove
from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_memory.transport.letter_requests import LetterRequest, Redriven, encode_outcomes
from helix_memory.transport.publisher import Publisher
from helix_shared.audit.record import OK, AuditRecord, short
from helix_shared.broker.audit_messages import audit_messages
from helix_shared.broker.cancelling import cancel_all
from helix_shared.broker.dead_letters import header_text
from helix_shared.errors import HelixError, NotFoundError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_memory.transport.dead_letters import DeadLetter

QUEUE: Final = "letters"
REQUESTS_IN_WORK: Final = 4
"""Requests in work; another one is told to come again."""
BUSY_REASON: Final = f"{REQUESTS_IN_WORK} requests about dead letters are in work; ask again"
PARTIAL_OUTCOME: Final = "FAILED_PRECONDITION"
"""Outcome in the audit stream where a letter of the tenant is neither processed nor dropped."""

_log = logger(__name__)


@contextlib.asynccontextmanager
async def letter_responder(client: Client) -> AsyncIterator[None]:
    """Inside, carry out letter requests; those in work are cancelled at the end, and can be repeated."""
    working: set[asyncio.Task[None]] = set()

    async def start(message: Msg) -> None:
        if len(working) >= REQUESTS_IN_WORK:
            await _reply(client, message, b"", BUSY_REASON)
            return
        task = asyncio.create_task(_respond(client, message))
        working.add(task)
        task.add_done_callback(working.discard)

    subscription = await client.subscribe(subjects.LETTER_REQUESTS, queue=QUEUE, cb=start)
    try:
        yield
    finally:
        with contextlib.suppress(*UNANSWERED):
            await subscription.unsubscribe()
        await cancel_all(list(working))


async def _respond(client: Client, message: Msg) -> None:
    try:
        outcomes = await carry_out(client, LetterRequest.decode(message.data))
        body, reason = encode_outcomes(outcomes), ""
    except (HelixError, *UNANSWERED) as error:
        body, reason = b"", reason_of(error)
    except Exception as error:  # noqa: BLE001  the requester gets the reason
        _log.exception("letter request failed")
        body, reason = b"", type(error).__name__
    await _reply(client, message, body, reason)


async def _reply(client: Client, message: Msg, body: bytes, reason: str) -> None:
    headers = {subjects.REASON_HEADER: header_text(reason)} if reason else None
    # the requester repeats a request that was not answered
    with contextlib.suppress(*UNANSWERED):
        await client.publish(message.reply, body, headers=headers)


async def carry_out(client: Client, request: LetterRequest) -> list[Redriven]:
    """Redrive or drop the letters of a request, and write an audit record for each tenant.

    A letter that is gone is `not possible`, and holds up no other.

    Raises:
        TemporaryError: NATS does not answer.
    """
    letters, outcomes = await _letters(client, request.letters)
    if request.action == "drop":
        outcomes += [await _drop(client, letter) for letter in letters]
    else:
        outcomes += [one async for one in redrive(client, letters, wait_seconds=request.wait_seconds)]
    await _record(client, request, letters, outcomes)
    return outcomes


async def _letters(client: Client, sequences: Sequence[int]) -> tuple[list[DeadLetter], list[Redriven]]:
    """Those that are there, and outcomes of the others."""
    letters: list[DeadLetter] = []
    gone: list[Redriven] = []
    for sequence in dict.fromkeys(sequences):
        try:
            letters.append((await letter_at(client.jetstream(), sequence))[0])
        except NotFoundError as error:
            gone.append(Redriven(sequence, "not possible", str(error)))
    return letters, gone


async def _drop(client: Client, letter: DeadLetter) -> Redriven:
    await remove(client.jetstream(), letter.sequence)
    return Redriven(letter.sequence, "dropped")


async def _record(
    client: Client, request: LetterRequest, letters: Sequence[DeadLetter], outcomes: Sequence[Redriven]
) -> None:
    """What fails is in the log: the letters are settled already."""
    done = {one.letter for one in outcomes if one.state in {"processed", "dropped"}}
    tenants: dict[str, list[int]] = {}
    for letter in letters:
        tenant = "" if letter.tenant_id == subjects.UNKNOWN_TENANT else letter.tenant_id
        tenants.setdefault(tenant, []).append(letter.sequence)
    made = AuditRecord(
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        call=f"letters.{request.action}",
        outcome=OK,
        credential=short(request.credential),
        user_id=short(request.user_id),
        roles=request.roles,
        address=request.address,
    )
    records = [
        (
            number,
            replace(
                made,
                tenant_id=tenant,
                count=len(own),
                outcome=OK if done.issuperset(own) else PARTIAL_OUTCOME,
            ),
        )
        for number, (tenant, own) in enumerate(sorted(tenants.items()), start=1)
    ]
    publisher = Publisher(client.jetstream())
    try:
        for message in audit_messages(records, uuid.uuid4().hex):
            await publisher.publish(message.subject, message.body, message_id=message.message_id)
    except (HelixError, *UNANSWERED) as error:
        _log.warning("letters not audited", reason=reason_of(error))
