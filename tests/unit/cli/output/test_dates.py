"""Dates for people: of events, and of windows of time."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from helix_cli.output.dates import happened_on, said_on, window_days
from helix_memory.recall.v1 import recall_pb2

NEW_YORK = ZoneInfo("America/New_York")


def memory_of(**moments: datetime) -> recall_pb2.Memory:
    """A memory with these times."""
    memory = recall_pb2.Memory()
    for name, moment in moments.items():
        getattr(memory, name).FromDatetime(moment)
    return memory


def test_an_event_at_the_beginning_of_1970_keeps_its_date() -> None:
    """Its timestamp is empty on the wire, as that of a field without a value would be."""
    said = datetime(2026, 1, 1, tzinfo=UTC)
    begins = memory_of(
        occurred_at=said,
        event_start=datetime(1970, 1, 1, tzinfo=UTC),
        event_end=datetime(1970, 1, 2, tzinfo=UTC),
    )
    ends = memory_of(
        occurred_at=said,
        event_start=datetime(1969, 12, 31, tzinfo=UTC),
        event_end=datetime(1970, 1, 1, tzinfo=UTC),
    )
    # whole days are the same dates in every zone
    assert [happened_on(begins, zone) for zone in (UTC, NEW_YORK)] == ["1970-01-01", "1970-01-01"]
    assert [happened_on(ends, zone) for zone in (UTC, NEW_YORK)] == ["1969-12-31", "1969-12-31"]
    assert said_on(memory_of(occurred_at=datetime(1970, 1, 1, tzinfo=UTC)), UTC) == "1970-01-01"


def test_a_memory_without_times_has_no_date() -> None:
    """Without an event it is the day on which it was said."""
    assert (happened_on(recall_pb2.Memory(), UTC), said_on(recall_pb2.Memory(), UTC)) == ("", "")
    assert happened_on(memory_of(occurred_at=datetime(2026, 1, 1, tzinfo=UTC)), NEW_YORK) == "2025-12-31"


def test_a_window_that_begins_or_ends_with_1970_is_not_open_there() -> None:
    """It is open where the field has no value."""
    route = recall_pb2.Route()
    route.window_start.FromDatetime(datetime(1970, 1, 1, tzinfo=UTC))
    assert window_days(route, UTC) == "from 1970-01-01 to …"
    route = recall_pb2.Route()
    route.window_end.FromDatetime(datetime(1970, 1, 1, tzinfo=UTC))
    assert window_days(route, UTC) == "from … to 1969-12-31"
