"""`--tz`, its default (the zone of this machine), and the offset of published events."""

import io
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from helix_cli.commands.common.query_options import request_of
from helix_cli.commands.recall import route_line
from helix_cli.sources.documents.document import document_items
from helix_cli.sources.documents.markdown import markdown_content
from helix_cli.sources.event_options import one_event
from helix_cli.sources.jsonl import read_events
from helix_ingest.extraction.score import event_times
from helix_memory import events
from helix_memory.machine_zone import local_now, machine_zone
from helix_memory.recall.v1 import recall_pb2
from helix_shared.calendar_days import dates_of
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import SourceScope
from helix_shared.sources.source_event import SourceEvent
from helix_shared.timex import resolve_window

SAID = datetime(2026, 11, 22, 1, tzinfo=UTC)
"""Eight in the evening of 21 November in New York."""


@pytest.fixture
def machine_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the zone of this process."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def test_the_option_names_the_zone_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option wins over the zone of the machine."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert request_of("today?", tenant="acme", tz="Europe/Berlin").time_zone == "Europe/Berlin"
    assert request_of("today?", tenant="acme").time_zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("variable", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("XYZ-1ABC,M3.5.0,M10.5.0/3", ""),
        ("Europe", ""),
        ("../../etc/passwd", ""),
        ("", ""),
        (":", ""),
        ("/nowhere/at/all", ""),
        ("LINK", "Europe/Berlin"),
        (":LINK", "Europe/Berlin"),
        ("localtime", "Europe/Berlin"),
        (":localtime", "Europe/Berlin"),
        ("posix/Europe/Berlin", "Europe/Berlin"),
        ("right/Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/right/Europe/Berlin", "Europe/Berlin"),
        ("Factory", ""),
        ("posixrules", ""),
        ("EST5EDT", "EST5EDT"),
    ],
)
def test_the_variable_tz_names_the_machines_zone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, zone: str
) -> None:
    """Empty is UTC; a name that not every database has is ignored. The link of the local time is Berlin."""
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    monkeypatch.setenv("TZ", variable.replace("LINK", str(link)))
    assert machine_zone(link) == zone


def test_without_the_variable_the_link_of_the_local_time_names_the_zone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A link into the database names the zone; a copy of a file or a missing file does not."""
    monkeypatch.delenv("TZ", raising=False)
    file = tmp_path / "zoneinfo" / "Europe" / "Berlin"
    file.parent.mkdir(parents=True)
    file.touch()
    link = tmp_path / "localtime"
    assert machine_zone(link) == ""
    link.symlink_to(file)
    assert machine_zone(link) == "Europe/Berlin"
    assert machine_zone(file.rename(tmp_path / "copied")) == ""


@pytest.mark.parametrize(
    ("zone", "text", "day"),
    [
        ("America/New_York", "I went to the dentist yesterday.", date(2026, 11, 20)),
        ("Europe/Berlin", "I went to the dentist yesterday.", date(2026, 11, 21)),
        ("Europe/Berlin", "The audit is on 15 January.", date(2027, 1, 15)),
        ("Asia/Tokyo", "I went to the dentist today.", date(2026, 11, 22)),
    ],
)
def test_days_of_published_events_are_those_of_this_machine(
    machine_in: Callable[[str], None], zone: str, text: str, day: date
) -> None:
    """From the options to the event time that ingest extracts."""
    machine_in(zone)
    given = one_event({"text": text}, tenant="acme", kind="message", role="user", now=SAID.astimezone())
    read = events.parse_event(events.encode_event(given.event))
    assert read.occurred_at is not None
    times = event_times(read, text, read.occurred_at)
    assert times.start is not None
    assert dates_of(times.start, times.end, UTC) == (day, day + timedelta(days=1))


@pytest.mark.parametrize(("zone", "hours"), [("Asia/Tokyo", 9), ("Asia/Kolkata", 5.5), ("UTC", 0)])
def test_the_moment_of_publishing_carries_the_offset_of_this_machine(
    machine_in: Callable[[str], None], tmp_path: Path, zone: str, hours: float
) -> None:
    """For an event from options, a line without a time and a file; the time and the id of a line are kept."""
    machine_in(zone)
    assert local_now().utcoffset() == timedelta(hours=hours)
    line = {"kind": "message", "tenant_id": "acme", "session_id": "s1", "role": "user", "text": "hello"}
    moment = "2026-11-21T20:00:00-05:00"
    body = "\n".join(json.dumps(line | more) for more in ({}, {"occurred_at": None}, {"occurred_at": moment}))
    file = tmp_path / "notes.md"
    file.write_text("I went to the dentist yesterday.")
    os.utime(file, (SAID.timestamp(), SAID.timestamp()))
    items = [
        *read_events(io.BytesIO(body.encode()), "file"),
        *document_items(file, "notes.md", SourceScope("acme"), markdown_content, origin="markdown"),
    ]
    offsets = []
    for item in items:
        assert isinstance(item, SourceEvent)
        assert item.event.occurred_at is not None
        offsets.append(item.event.occurred_at.utcoffset())
    assert offsets == [timedelta(hours=number) for number in (hours, hours, -5, hours)]
    again = next(iter(read_events(io.BytesIO(body.encode()), "file")))
    assert isinstance(items[0], SourceEvent)
    assert isinstance(again, SourceEvent)
    assert again.event.event_id == items[0].event.event_id


def test_dates_of_options_are_days_of_the_zone() -> None:
    """A zone in the option wins."""
    asked = request_of(
        "what?",
        tenant="acme",
        tz="Asia/Tokyo",
        after="2026-11-01",
        as_of="2026-11-02T00:00Z",
        valid_at="2026-11-03",
    )
    after = asked.filter.event_after.ToDatetime(UTC)
    assert after == datetime(2026, 11, 1, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert asked.as_of.ToDatetime(UTC) == datetime(2026, 11, 2, tzinfo=UTC)
    assert asked.valid_at.ToDatetime(UTC) == datetime(2026, 11, 2, 15, tzinfo=UTC)


def test_an_unknown_zone_is_refused_before_a_request_is_sent() -> None:
    """The error names the option."""
    with pytest.raises(InvalidInputError) as caught:
        request_of("what?", tenant="acme", tz="Europe/Atlantis")
    assert caught.value.field == "--tz"


@pytest.mark.parametrize(
    ("zone", "question", "shown"),
    [
        ("UTC", "what did I do today?", "on 2026-11-22"),
        ("Europe/Berlin", "what did I do today?", "on 2026-11-22"),
        ("Asia/Tokyo", "what did I do today?", "on 2026-11-22"),
        ("America/New_York", "what did I do in October?", "from 2026-10-01 to 2026-10-31"),
        ("America/New_York", "what did I do before October?", "from … to 2026-09-30"),
        ("Asia/Tokyo", "what will I do after October?", "from 2027-11-01 to …"),
    ],
)
def test_a_window_is_printed_as_its_days(zone: str, question: str, shown: str) -> None:
    """Both days inclusive, in the zone of the request."""
    bounds = resolve_window(question, datetime(2026, 11, 22, 12, tzinfo=UTC), zone=ZoneInfo(zone))
    assert bounds is not None
    route = recall_pb2.Route(window_start=bounds[0], window_end=bounds[1])
    assert route_line(route, ZoneInfo(zone)) == f"what; {shown}"
