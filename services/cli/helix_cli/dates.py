"""Dates for people: the days of a reply in the time zone that its request names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped] # stubs are a namespace

    from helix.recall.v1 import recall_pb2

OPEN: Final = "…"
_SHORTEST_DAY: Final = timedelta(hours=23)
"""The day on which summer time begins."""
_NOON: Final = timedelta(hours=12)
_TICK: Final = timedelta(microseconds=1)


def shown_zone(name: str) -> tzinfo:
    """The zone of a request (empty: UTC), or UTC where the database of this machine does not hold it."""
    try:
        return ZoneInfo(name) if name else UTC
    # as in `zone.machine_zone`
    except (KeyError, ValueError, OSError):
        return UTC


def happened_on(memory: recall_pb2.Memory, zone: tzinfo) -> str:
    """The first day of what a memory speaks of, else the day on which it happened; empty if unknown.

    Whole days are stored from the midnight of the publisher's zone on. The noon of that day lies on the
    same date in most other zones, its midnight in the zones on one side only.
    """
    if not memory.HasField("event_start"):
        return _date(_moment(memory.occurred_at), zone)
    start = _moment(memory.event_start)
    if start is not None and memory.HasField("event_end"):
        end = _moment(memory.event_end)
        if end is not None and end - start >= _SHORTEST_DAY:
            start += _NOON
    return _date(start, zone)


def window_days(route: recall_pb2.Route, zone: tzinfo) -> str:
    """The days of the time window of a question, both inclusive; the stored end is exclusive."""
    start = _date(_moment(route.window_start), zone) or OPEN
    end = _moment(route.window_end)
    last = OPEN if end is None else _date(end - _TICK, zone)
    return f"on {start}" if start == last else f"from {start} to {last}"


def _moment(timestamp: Timestamp) -> datetime | None:
    if not timestamp.seconds and not timestamp.nanos:
        return None
    moment: datetime = timestamp.ToDatetime(UTC)
    return moment


def _date(moment: datetime | None, zone: tzinfo) -> str:
    return "" if moment is None else moment.astimezone(zone).date().isoformat()
