"""`helix import` of an export: the whole file is checked, then its events are published with their times.

Nothing is published of a file that is damaged. What the log has already is left out by its id, however old
it is, so importing twice changes nothing. The time of storage of the source goes with each event under a seal
(`helix_shared.broker.stored_at`): `as_of`, validity and words for days count from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_cli.clients.stream_api import room_for_seals
from helix_cli.exchange.erased import event_id_of, named_ids
from helix_cli.exchange.export import REFUSED_HEADER, events_of
from helix_cli.exchange.present import PresentIds
from helix_cli.exchange.rename import Renaming
from helix_memory import limits, subjects
from helix_memory.errors import PermanentError as Refused
from helix_memory.transport.batch import Outgoing, split
from helix_memory.transport.publisher import FIRST_ONLY, PubAck, Publisher
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.provisioning.provision import ensure_answers
from helix_shared.broker.stored_at import sealed, sealing_key
from helix_shared.errors import CorruptArtifactError, InvalidInputError
from helix_shared.event_log.export_file import (
    ANSWER,
    EVENT,
    ExportHeader,
    ExportLine,
    ExportReader,
    opened_export,
)

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_cli.clients.sending import Tally
    from helix_shared.event_log.record import EventRecord

_SUBJECTS: Final = {EVENT: subjects.ALL_EVENTS, ANSWER: subjects.ALL_ANSWERS}
_TOKENS: Final = {EVENT: 4, ANSWER: 5}
_EVENT_ID: Final = re.compile(limits.EVENT_ID_PATTERN)

Advance = Callable[[], None]
"""Hears of every event that is published or was there."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An export whose every line is good."""

    path: Path
    header: ExportHeader
    tenants: frozenset[str]
    named: frozenset[str] = field(repr=False)
    """Ids of memories that events name; only where the tenant changes."""

    def renaming(self, tenant: str) -> Renaming | None:
        """How the events become those of `tenant`; None where they stay those of their tenant.

        Raises:
            InvalidInputError: the export holds several tenants.
        """
        if not tenant or self.tenants <= {tenant}:
            return None
        if len(self.tenants) > 1:
            listed = ", ".join(sorted(self.tenants)[:5])
            raise InvalidInputError(
                "--tenant",
                f"the export holds {len(self.tenants)} tenants ({listed}); only one can be renamed",
            )
        return Renaming(next(iter(self.tenants)), tenant, set(self.named))


def check(path: Path, *, name: str = "", renames: bool = False) -> Checked:
    """Read the whole export; `renames`: also note the ids that events name.

    Raises:
        CorruptArtifactError: a line is damaged or missing; names it.
    """
    tenants: set[str] = set()
    named: set[str] = set()
    with opened_export(path) as source:
        reader = ExportReader(source, name or str(path))
        for line in reader.lines():
            _require_subject(line, reader.name)
            tenants.add(subjects.tenant_of(line.record.subject))
            if renames and line.kind == EVENT:
                named |= named_ids(line.record.body)
        return Checked(path, reader.header, frozenset(tenants), frozenset(named))


async def publish_export(
    client: Client,
    checked: Checked,
    renaming: Renaming | None,
    *,
    tally: Tally,
    advance: Advance = lambda: None,
) -> int:
    """Publish what the log has not, answers first; returns the number of answers that are new.

    Raises:
        TemporaryError: NATS does not answer; importing again continues.
        OverloadedError: the stream is full.
    """
    tenants = {renaming.new} if renaming else checked.tenants
    publisher = Publisher(client.jetstream())
    answers = await _publish_answers(client, publisher, checked, renaming) if checked.header.answers else 0
    present = await _present(client, sorted(tenants))
    key = await sealing_key(client)
    for batch in split(_outgoing(checked, renaming, key, present, tally, advance)):
        acks = await publisher.publish_together(client, batch) if len(batch) > 1 else None
        for number, message in enumerate(batch):
            ack = await _publish(client, publisher, message) if acks is None else acks[number]
            tenant = subjects.tenant_of(message.subject)
            tally.count(ack, where=message.message_id, tenant_id=tenant)
            advance()
    return answers


async def _publish(client: Client, publisher: Publisher, message: Outgoing) -> PubAck:
    """Publish one event, also one that is as large as the log takes without the headers of its time."""
    event = partial(
        publisher.publish,
        message.subject,
        message.body,
        message_id=message.message_id,
        headers=message.headers,
    )
    try:
        return await event()
    except InvalidInputError:
        async with room_for_seals(client):
            return await event()


def _outgoing(
    checked: Checked,
    renaming: Renaming | None,
    key: bytes,
    present: PresentIds,
    tally: Tally,
    advance: Advance,
) -> Iterator[Outgoing]:
    now = datetime.now(UTC)
    for line in _lines(checked, EVENT):
        record = renaming.event(line.record) if renaming else line.record
        message_id = _message_id(record)
        headers = {name: value for name, value in record.headers.items() if name != REFUSED_HEADER}
        if len(headers) < len(record.headers):
            tally.expected.add(message_id)
        if (there := present.sequence_of(message_id)) is not None:
            tally.duplicates += 1
            tally.last_sequence = max(tally.last_sequence, there)
            advance()
            continue
        times = sealed(key, record.subject, record.body, message_id, min(record.stored_at, now))
        yield Outgoing(record.subject, record.body, message_id, {**headers, **times})


def _message_id(record: EventRecord) -> str:
    """The id of a message; one that was published without an id gets that of its event.

    A sequence is no name for it: exports of two instances have different events of one sequence.
    """
    if record.message_id:
        return record.message_id
    tenant, event_id = subjects.tenant_of(record.subject), event_id_of(record)
    if _EVENT_ID.fullmatch(event_id):
        return subjects.message_id(tenant, event_id)
    # refused where it comes from, and refused again
    return f"import:{tenant}:{record.sequence}"


async def _publish_answers(
    client: Client, publisher: Publisher, checked: Checked, renaming: Renaming | None
) -> int:
    await ensure_answers(client.jetstream())
    published = 0
    for line in _lines(checked, ANSWER):
        record = renaming.answer(line.record) if renaming else line.record
        try:
            ack = await publisher.publish(
                record.subject,
                record.body,
                message_id=record.message_id,
                headers={**record.headers, **FIRST_ONLY},
            )
        except Refused:
            continue  # answered before
        published += not ack.duplicate
    return published


async def _present(client: Client, tenants: list[str]) -> PresentIds:
    """What the log has of these tenants."""
    last = (await client.jetstream().stream_info(subjects.EVENTS_STREAM)).state.last_seq
    found = PresentIds()
    if last and tenants:
        async for batch in read_range(
            client, subjects.EVENTS_STREAM, events_of(tenants), until=last, headers_only=True
        ):
            found.add(batch)
    found.sort()
    return found


def _lines(checked: Checked, kind: str) -> Iterator[ExportLine]:
    with opened_export(checked.path) as source:
        for line in ExportReader(source, str(checked.path)).lines():
            if line.kind == kind:
                yield line


def _require_subject(line: ExportLine, name: str) -> None:
    subject = line.record.subject
    tokens = subject.split(".")
    if not (
        subjects.is_within(subject, _SUBJECTS[line.kind])
        and len(tokens) > _TOKENS[line.kind] - 1
        and all(tokens)
        and subjects.is_token(tokens[3])
        and not any(character in subject for character in "*> \t\r\n")
    ):
        raise CorruptArtifactError(f"{name}: line {line.number} names no subject of an {line.kind}")
