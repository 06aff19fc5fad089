from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from helix_cli.commands.common.letters import since_moment
from helix_cli.commands.recall import route_line
from helix_cli.output.time_zone import iso_text, moment
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError
from helix_shared.timex import resolve_window

from .fake_service import FakeService, a_reply

BERLIN = ZoneInfo("Europe/Berlin")
Recall = Callable[..., tuple[int, str, str]]


def test_a_date_option_is_the_first_moment_of_the_day_in_the_zone() -> None:
    """A time zone in the option wins."""
    assert moment("--after", "2026-11-01", UTC) == datetime(2026, 11, 1, tzinfo=UTC)
    assert moment("--after", "2026-11-01", BERLIN) == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert moment("--after", "2026-11-01T02:00+02:00", BERLIN) == datetime(2026, 11, 1, tzinfo=UTC)
    assert moment("--after", "", BERLIN) is None
    for wrong in ("last week", "0001-01-01T00:00+01:00", "9999-12-31T23:59-01:00"):
        with pytest.raises(InvalidInputError, match="--after"):
            moment("--after", wrong, UTC)
    with pytest.raises(InvalidInputError, match="--since"):
        since_moment("999999d")


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("0001-01-01", "Asia/Tokyo"),
        ("9999-12-31T23:59:59-12:00", "UTC"),
        ("0001-01-01T05:00Z", "America/Lima"),
    ],
)
def test_a_moment_outside_of_the_calendar_is_refused(text: str, zone: str) -> None:
    """A request holds moments in UTC, and hints show them in the zone."""
    with pytest.raises(InvalidInputError, match="outside of the years"):
        moment("--after", text, ZoneInfo(zone))


def test_a_time_before_standard_time_is_published_with_whole_minutes() -> None:
    """An event takes no offset with seconds; local mean time of Berlin was 00:53:28 ahead."""
    assert iso_text(datetime(1850, 1, 1, 12, tzinfo=BERLIN)) == "1850-01-01T11:59:32+00:53"
    assert iso_text(datetime(2026, 1, 1, tzinfo=BERLIN)) == "2026-01-01T00:00:00+01:00"


def test_the_route_line_names_a_skipped_search_and_the_window() -> None:
    """A window that is open at one end is printed so."""
    route = recall_pb2.Route(skipped=True, reason="a greeting")
    assert route_line(route, UTC) == "skipped: the question needs no memory; a greeting"
    window = recall_pb2.Route(intents=["when"])
    window.window_start.FromDatetime(datetime(2026, 11, 1, tzinfo=UTC))
    assert route_line(window, UTC) == "when; from 2026-11-01 to …"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York", "Pacific/Auckland"])
@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did I do today?", "on 2026-11-22"),
        ("what did I do last week?", "from 2026-11-09 to 2026-11-15"),
        ("what did I do in March?", "from 2026-03-01 to 2026-03-31"),
    ],
)
def test_the_window_is_shown_in_the_days_that_the_question_means(
    service: FakeService, recall: Recall, zone: str, question: str, days: str
) -> None:
    """Both days inclusive, in the time zone of the request."""
    noon = datetime(2026, 11, 22, 12, tzinfo=ZoneInfo(zone))
    window = resolve_window(question, noon.astimezone(UTC), zone=ZoneInfo(zone))
    assert window is not None
    service.reply.route.window_start.FromDatetime(window[0])
    service.reply.route.window_end.FromDatetime(window[1])
    assert f"route       what; {days}\n" in recall("--tz", zone)[1]


@pytest.mark.parametrize(
    ("start", "hours", "zone", "shown"),
    [
        ("2026-11-21T16:00+00:00", 0, "Asia/Tokyo", "2026-11-22"),
        ("2026-11-21T02:00+00:00", 0, "America/New_York", "2026-11-20"),
        ("2026-11-21T02:00+00:00", 0, "UTC", "2026-11-21"),
        ("2026-01-15T00:00+09:00", 24, "Asia/Tokyo", "2026-01-15"),
        ("2026-01-15T00:00+09:00", 24, "UTC", "2026-01-15"),
        ("2026-01-15T00:00+00:00", 24, "America/New_York", "2026-01-15"),
        ("2026-01-01T00:00-05:00", 31 * 24, "America/New_York", "2026-01-01"),
        ("2026-01-15T23:30+00:00", 1, "Europe/Berlin", "2026-01-16"),
    ],
)
def test_a_date_is_the_day_in_the_zone_of_the_request(
    service: FakeService, recall: Recall, start: str, hours: int, zone: str, shown: str
) -> None:
    """A moment is converted to the zone; a whole day keeps its date."""
    service.reply = a_reply()
    memory = service.reply.memories[0].memory
    memory.occurred_at.FromDatetime(datetime.fromisoformat(start))
    if hours:
        memory.event_start.CopyFrom(memory.occurred_at)
        memory.event_end.FromDatetime(datetime.fromisoformat(start) + timedelta(hours=hours))
    assert recall("--tz", zone)[1].splitlines()[1].split()[3] == shown
