"""The questions that a tenant's feedback states, read from the log.

A feedback event that names its question tells which memories answered it. Opinions on one question of one
caller are taken together, and of two on one memory the later counts. Questions of users and sessions that
were erased since are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from nats.js import api
from pydantic import ValidationError

from helix_cli.clients.broker import jetstream_of, require_events_stream
from helix_memory import subjects
from helix_memory.events import EraseEvent, Event, FeedbackEvent
from helix_memory.events.codec import parse_event

if TYPE_CHECKING:
    from nats.js import JetStreamContext

    from helix_cli.home.addresses import Server

BATCH: Final = 256
FETCH_SECONDS: Final = 5.0

Logged = tuple[int, Event]
"""Sequence in the log, and the event."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of one caller, and what the caller said about memories."""

    text: str
    user_id: str
    principals: tuple[str, ...]
    helpful: frozenset[str]
    unhelpful: frozenset[str]
    sessions: tuple[tuple[str, int], ...]
    """Sessions of the feedback, with the sequence of the first of each."""
    first: int
    """Sequence of the first feedback."""
    last: int

    @classmethod
    def of(cls, text: str, *helpful: str) -> Self:
        """A question that nobody in particular asked."""
        return cls(text, "", (), frozenset(helpful), frozenset(), (), 0, 0)


@dataclass(frozen=True, slots=True)
class Erased:
    """Sequences of the last erasure of each user, and of each session."""

    users: dict[str, int]
    sessions: dict[str, int]

    @classmethod
    def by(cls, erasures: Iterable[Logged]) -> Self:
        """What erase events in the order of the log select by."""
        users: dict[str, int] = {}
        sessions: dict[str, int] = {}
        for sequence, event in erasures:
            if isinstance(event, EraseEvent):
                users |= {event.of_user: sequence} if event.of_user else {}
                sessions |= {event.of_session: sequence} if event.of_session else {}
        return cls(users, sessions)


async def read_feedback(server: Server, tenant_id: str, *, most: int = sys.maxsize) -> list[AskedQuestion]:
    """The newest `most` questions of a tenant with a helpful memory, oldest first.

    Raises:
        TemporaryError: NATS does not answer.
        PermanentError: there is no log.
    """
    async with jetstream_of(server) as jetstream:
        await require_events_stream(jetstream)
        feedback = await _read(jetstream, tenant_id, "feedback")
        erasures = await _read(jetstream, tenant_id, "erase")
    return questions_of(feedback, erasures)[-most:]


async def read_erased(server: Server, tenant_id: str) -> Erased:
    """Which users and sessions of a tenant were erased up to now.

    Raises: as `read_feedback`.
    """
    async with jetstream_of(server) as jetstream:
        await require_events_stream(jetstream)
        return Erased.by(await _read(jetstream, tenant_id, "erase"))


def questions_of(feedback: Iterable[Logged], erasures: Iterable[Logged]) -> list[AskedQuestion]:
    """The questions of feedback events in the order of the log, by their last feedback."""
    found: dict[tuple[str, tuple[str, ...], str], list[tuple[int, FeedbackEvent]]] = {}
    erased = Erased.by(erasures)
    for sequence, event in feedback:
        if not isinstance(event, FeedbackEvent) or not event.query.strip():
            continue
        if sequence > max(erased.users.get(event.user_id, 0), erased.sessions.get(event.session_id, 0)):
            asker = (event.user_id, tuple(sorted(event.acl)), " ".join(event.query.split()).casefold())
            found.setdefault(asker, []).append((sequence, event))
    asked = (_asked(said) for said in found.values())
    return sorted((one for one in asked if one.helpful), key=lambda one: one.last)


def _asked(said: Sequence[tuple[int, FeedbackEvent]]) -> AskedQuestion:
    opinions: dict[str, bool] = {}
    sessions: dict[str, int] = {}
    for sequence, event in said:
        opinions |= dict.fromkeys(event.unhelpful, False) | dict.fromkeys(event.helpful, True)
        if event.session_id:
            sessions.setdefault(event.session_id, sequence)
    (first, event), (last, _) = said[0], said[-1]
    return AskedQuestion(
        " ".join(event.query.split()),
        event.user_id,
        tuple(sorted(event.acl)),
        frozenset(name for name, helped in opinions.items() if helped),
        frozenset(name for name, helped in opinions.items() if not helped),
        tuple(sessions.items()),
        first,
        last,
    )


async def _read(jetstream: JetStreamContext, tenant_id: str, kind: str) -> list[Logged]:
    """All events of one kind of a tenant, oldest first; what is no valid event is left out."""
    subject = subjects.events_of_kind(kind, tenant_id=tenant_id)
    config = api.ConsumerConfig(ack_policy=api.AckPolicy.NONE, inactive_threshold=60.0)
    reading = await jetstream.pull_subscribe(subject, stream=subjects.EVENTS_STREAM, config=config)
    found: list[Logged] = []
    try:
        left = (await reading.consumer_info()).num_pending or 0
        while left:
            for message in await reading.fetch(min(BATCH, left), timeout=FETCH_SECONDS):
                left = message.metadata.num_pending
                try:
                    found.append((message.metadata.sequence.stream, parse_event(message.data)))
                except ValidationError:  # consolidation refused it as well
                    continue
    finally:
        await reading.unsubscribe()
    return found
