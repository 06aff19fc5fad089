"""Copies of erased events in other streams: dead letters, answers of a language model, unsure pairs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.erasing.reading import messages_of, remove_message
from helix_memory import subjects
from helix_shared import edges
from helix_shared.errors import HelixError
from helix_shared.keys.owner import fields_of
from helix_shared.pairs.messages import read_pairs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

    Erased = Callable[[str, frozenset[str], frozenset[str]], Awaitable[bool]]
    """Whether one of these event ids or memory ids of a tenant is erased."""
_NO_IDS: Final = frozenset[str]()


async def remove_dead_letters(
    jetstream: JetStreamContext, tenant_id: str, removed: set[int], is_erased: Erased
) -> Counter[int]:
    """Remove the dead letters of events in `removed`, and those that hold or quote an erased event.

    Returns how many, by the sequence of the event.
    """
    count = Counter[int]()
    subject = f"{subjects.ROOT}.dlq.*.{tenant_id}"
    async for message in messages_of(jetstream, subjects.DLQ_STREAM, subject):
        if _keeps_no_text(message):
            continue
        event = _number(message, subjects.EVENT_SEQUENCE_HEADER)
        if event in removed or await is_erased(tenant_id, _events_in(message.data), _NO_IDS):
            sequence = message.metadata.sequence.stream
            count[event] += await remove_message(jetstream, subjects.DLQ_STREAM, sequence)
    return count


async def remove_answers(jetstream: JetStreamContext, tenant_id: str, removed: set[int]) -> Counter[int]:
    """Remove the recorded answers to questions with the text of an event in `removed`; returns as above.

    An answer of an older release does not tell what was asked about: it is removed, and asked for again.
    """
    count = Counter[int]()
    subject = subjects.answer_subject(tenant_id, "*")
    async for message in messages_of(jetstream, subjects.ANSWERS_STREAM, subject):
        named = (message.headers or {}).get(subjects.EVENTS_HEADER)
        found = removed & _numbers(named or "")
        if named is None or found:
            sequence = message.metadata.sequence.stream
            count[min(found, default=0)] += await remove_message(jetstream, subjects.ANSWERS_STREAM, sequence)
    return count


async def remove_pairs(
    jetstream: JetStreamContext, tenant_id: str, removed: set[int], is_erased: Erased
) -> Counter[int]:
    """Remove the unsure pairs with a text of an event in `removed`, or of an erased memory; as above."""
    count = Counter[int]()
    subject = f"{subjects.ROOT}.pairs.{tenant_id}.*"
    async for message in messages_of(jetstream, subjects.PAIRS_STREAM, subject):
        try:
            sides = [side for pair in read_pairs(message.data).pairs for side in (pair.newer, pair.older)]
        except HelixError:
            continue
        found = removed & {side.sequence for side in sides}
        if found or await is_erased(tenant_id, _NO_IDS, frozenset(side.memory_id for side in sides)):
            sequence = message.metadata.sequence.stream
            count[min(found, default=0)] += await remove_message(jetstream, subjects.PAIRS_STREAM, sequence)
    return count


def _events_in(body: bytes) -> frozenset[str]:
    """Ids of the events in a refused message: the event, or those that derived rows are of and quote."""
    event = fields_of(body).get("event_id")
    if isinstance(event, str):
        return frozenset((event,))
    try:
        origin, rows = edges.decode(body)
    except HelixError:
        return _NO_IDS
    quoted = rows["quotes"].to_pylist() if "quotes" in rows.schema.names else []
    return frozenset((origin.event_id, *(name for names in quoted for name in names or ())))


def _keeps_no_text(message: Msg) -> bool:
    """Whether a letter is that of an event that only names ids."""
    origin = (message.headers or {}).get(subjects.SUBJECT_HEADER, "")
    return subjects.kind_of(origin) in ("erase", "forget", "undo")


def _number(message: Msg, header: str) -> int:
    value = (message.headers or {}).get(header, "")
    return int(value) if value.isdecimal() and len(value) < 19 else 0  # noqa: PLR2004  digits of a sequence


def _numbers(text: str) -> set[int]:
    return {int(part) for part in text.split(",") if part.isdecimal() and len(part) < 19}  # noqa: PLR2004
