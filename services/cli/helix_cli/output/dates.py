"""Dates of a reply for people, in the time zone of its request."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

from helix_shared.calendar_days import first_date

if TYPE_CHECKING:
    from google.protobuf.message import Message  # type: ignore[import-untyped] # stubs are a namespace

    from helix_memory.recall.v1 import recall_pb2

OPEN: Final = "…"
_TICK: Final = timedelta(microseconds=1)


def happened_on(memory: recall_pb2.Memory, zone: tzinfo) -> str:
    """The first day of the event that a memory describes, else the day of `occurred_at`; empty if unknown.

    Whole days keep their date in every zone (`helix_shared.calendar_days`).
    """
    start = _moment(memory, "event_start")
    if start is None:
        return said_on(memory, zone)
    return first_date(start, _moment(memory, "event_end"), zone).isoformat()


def said_on(memory: recall_pb2.Memory, zone: tzinfo) -> str:
    """The day of `occurred_at`, by which lists are ordered; empty if unknown."""
    return _date(_moment(memory, "occurred_at"), zone)


def window_days(route: recall_pb2.Route, zone: tzinfo) -> str:
    """The days of the time window of a question, both inclusive; the stored end is exclusive."""
    start = _date(_moment(route, "window_start"), zone) or OPEN
    end = _moment(route, "window_end")
    last = OPEN if end is None else _date(end - _TICK, zone)
    return f"on {start}" if start == last else f"from {start} to {last}"


def _moment(message: Message, field: str) -> datetime | None:
    """The moment of a field; None where the message has none: an empty timestamp is that of 1970."""
    if not message.HasField(field):
        return None
    moment: datetime = getattr(message, field).ToDatetime(UTC)
    return moment


def _date(moment: datetime | None, zone: tzinfo) -> str:
    """The date of a moment; in the first or last year of the calendar the window is open."""
    if moment is None:
        return ""
    return OPEN if moment.year in (MINYEAR, MAXYEAR) else moment.astimezone(zone).date().isoformat()
