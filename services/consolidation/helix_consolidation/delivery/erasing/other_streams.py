"""Removes copies of erased events from other streams: dead letters, answers of a model, unsure pairs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_consolidation.delivery.erasing.erased_ids import MessageIds
from helix_consolidation.delivery.erasing.reading import for_each, messages_of, remove_message
from helix_memory import subjects
from helix_shared import edges
from helix_shared.errors import HelixError
from helix_shared.json_object import json_object
from helix_shared.pairs.messages import read_pairs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

    from helix_shared.pairs.messages import PairedText

    AreErased = Callable[[str, Sequence[MessageIds]], Awaitable[list[bool]]]
    """For each message of a tenant, whether an event or memory that it names is erased."""
_NO_IDS: Final = frozenset[str]()


class _Copy(NamedTuple):
    """A message of another stream, and what it may be a copy of."""

    message: int
    event: int
    """Sequence of the event; 0: unknown."""
    is_removed: bool = True
    """Whether that event leaves the log, whatever `named` says."""
    named: MessageIds = MessageIds()


async def remove_dead_letters(
    jetstream: JetStreamContext, tenant_id: str, removed: set[int], are_erased: AreErased
) -> Counter[int]:
    """Remove the dead letters of events in `removed`, and those that hold or quote an erased event.

    Those of refused pairs go with either of their texts, as the pairs do. Returns how many, by the sequence
    of the event.
    """
    found = list[_Copy]()
    subject = subjects.dlq_filter(tenant_id=tenant_id)
    async for message in messages_of(jetstream, subjects.DLQ_STREAM, subject):
        if _keeps_no_text(message):
            continue
        event = subjects.header_number(message.headers, subjects.EVENT_SEQUENCE_HEADER)
        is_of_pairs = (message.headers or {}).get(subjects.STREAM_HEADER) == subjects.PAIRS_STREAM
        sides = _sides_in(message.data) if is_of_pairs else []
        said = removed.intersection((event, *(side.sequence for side in sides)))
        named = MessageIds(_events_in(message.data), frozenset(side.memory_id for side in sides))
        found.append(_Copy(message.metadata.sequence.stream, min(said, default=event), bool(said), named))
    return await _remove(jetstream, subjects.DLQ_STREAM, await _erased(tenant_id, found, are_erased))


async def remove_answers(jetstream: JetStreamContext, tenant_id: str, removed: set[int]) -> Counter[int]:
    """Remove the recorded answers to questions with the text of an event in `removed`; returns as above.

    An answer of an older release does not tell what was asked about: it is removed, and asked for again.
    """
    going = list[_Copy]()
    subject = subjects.answer_subject(tenant_id, "*")
    async for message in messages_of(jetstream, subjects.ANSWERS_STREAM, subject):
        named = (message.headers or {}).get(subjects.EVENTS_HEADER)
        asked = removed.intersection(map(subjects.number_in, (named or "").split(",")))
        if named is None or asked:
            going.append(_Copy(message.metadata.sequence.stream, min(asked, default=0)))
    return await _remove(jetstream, subjects.ANSWERS_STREAM, going)


async def remove_pairs(
    jetstream: JetStreamContext, tenant_id: str, removed: set[int], are_erased: AreErased
) -> Counter[int]:
    """Remove the unsure pairs with a text of an event in `removed`, or of an erased memory; as above."""
    found = list[_Copy]()
    subject = subjects.pairs_subject(tenant_id, "*")
    async for message in messages_of(jetstream, subjects.PAIRS_STREAM, subject):
        sides = _sides_in(message.data)
        said = removed & {side.sequence for side in sides}
        named = MessageIds(memories=frozenset(side.memory_id for side in sides))
        found.append(_Copy(message.metadata.sequence.stream, min(said, default=0), bool(said), named))
    return await _remove(jetstream, subjects.PAIRS_STREAM, await _erased(tenant_id, found, are_erased))


async def _erased(tenant_id: str, found: list[_Copy], are_erased: AreErased) -> list[_Copy]:
    """The copies of what leaves the log or is erased."""
    unsure = [one for one in found if not one.is_removed]
    answers = await are_erased(tenant_id, [one.named for one in unsure]) if unsure else []
    erased = [one for one, is_erased in zip(unsure, answers, strict=True) if is_erased]
    return [one for one in found if one.is_removed] + erased


async def _remove(jetstream: JetStreamContext, stream: str, going: list[_Copy]) -> Counter[int]:
    """Remove copies; returns how many, by the sequence of the event."""
    removed = await for_each(lambda one: remove_message(jetstream, stream, one.message), going)
    count = Counter[int]()
    for one, is_removed in zip(going, removed, strict=True):
        count[one.event] += is_removed
    return count


def _events_in(body: bytes) -> frozenset[str]:
    """Ids of the events in a refused message: the event, or those that derived rows are of and quote."""
    event = json_object(body).get("event_id")
    if isinstance(event, str):
        return frozenset((event,))
    try:
        origin, rows = edges.decode(body)
    except HelixError:
        return _NO_IDS
    quoted = rows["quotes"].to_pylist() if "quotes" in rows.schema.names else []
    return frozenset((origin.event_id, *(name for names in quoted for name in names or ())))


def _sides_in(body: bytes) -> list[PairedText]:
    """The compared texts of unsure pairs; none where it cannot be read."""
    try:
        return [side for pair in read_pairs(body).pairs for side in (pair.newer, pair.older)]
    except HelixError:
        return []


def _keeps_no_text(message: Msg) -> bool:
    """Whether a letter is that of an event that only names ids."""
    origin = (message.headers or {}).get(subjects.SUBJECT_HEADER, "")
    return subjects.kind_of(origin) in ("erase", "forget", "undo")
