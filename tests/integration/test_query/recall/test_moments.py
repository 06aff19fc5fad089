"""`now` and `time_zone` decide what time phrases mean; the server's clock decides what is valid."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import grpc
import pytest

from helix_ingest.extraction.score import event_times
from helix_memory.events import MessageEvent
from helix_query.recall.channels import vector_search
from helix_query.recall.visibility import Visibility, VisibilityEstimate
from helix_shared.artifacts.filter.selection import Selection

pytestmark = pytest.mark.integration

PAST, AHEAD = datetime(2020, 1, 1, tzinfo=UTC), datetime(2900, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
EXPIRED, ENDED, COMING, STAYING = (f"The canteen menu number {number}." for number in range(4))
ROWS: list[dict[str, Any]] = [
    {"text": EXPIRED, "expires_at": PAST},
    {"text": ENDED, "valid_to": PAST},
    {"text": COMING, "valid_from": AHEAD},
    {"text": STAYING, "valid_from": PAST, "valid_to": AHEAD, "expires_at": AHEAD},
]


@pytest.fixture
def service(corpus: Any, in_process: Any) -> Any:
    """Memories that are no longer valid, not yet valid, and valid."""
    corpus.add([row | {"created_at": PAST - DAY, "occurred_at": PAST - DAY} for row in ROWS])
    corpus.publish()
    return in_process(corpus.root, channel_deadline_seconds=5, deadline_seconds=10)


def texts(reply: Any) -> list[str]:
    """Texts of a reply, sorted."""
    return sorted(found.memory.text for found in reply.memories)


@pytest.mark.parametrize("now", [None, PAST - DAY, PAST, AHEAD + DAY, datetime(9999, 12, 1, tzinfo=UTC)])
def test_the_callers_moment_moves_neither_expiry_nor_validity(service: Any, now: datetime | None) -> None:
    """The server's clock decides; `now` has no effect."""
    assert texts(service.recall("canteen menu", now=now)) == [STAYING]


def test_as_of_in_the_past_returns_what_was_valid_then(service: Any) -> None:
    """`as_of` selects the past state."""
    assert texts(service.recall("canteen menu", as_of=PAST - timedelta(hours=1))) == [EXPIRED, ENDED]


def test_an_odd_moment_changes_no_estimate_of_other_callers(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The visible share of a tenant is estimated once, also after a recall at year 9999."""
    monkeypatch.setattr(vector_search, "MAX_WITHOUT_ESTIMATE", 0)
    assert texts(service.recall("canteen menu", now=datetime(9999, 12, 1, tzinfo=UTC))) == [STAYING]
    with service.current.lease() as served:
        view = Visibility.of(served.generation, Selection("acme"), datetime.now(UTC))
        kept = [
            sight
            for (selection, _), sight in served.visibility_estimates.items()
            if selection == view.selection
        ]
        assert kept == [VisibilityEstimate.of(view)]
        assert kept[0].share == pytest.approx(0.25)
        later = Visibility.of(served.generation, Selection("acme"), AHEAD - timedelta(hours=1))
        earlier = Visibility.of(served.generation, Selection("acme"), PAST - timedelta(hours=1))
        assert [served.estimate_visibility(one).share for one in (later, earlier)] == [0.25, 0.5]


NOW = datetime(2026, 3, 4, 23, 30, tzinfo=UTC)
"""A Wednesday; Thursday 00:30 in Berlin and 08:30 in Tokyo, Wednesday 15:30 in Los Angeles."""


@pytest.mark.parametrize(
    ("zone", "question", "start", "end"),
    [
        ("", "What did I do today?", "2026-03-04T00:00", "2026-03-05T00:00"),
        ("UTC", "What did I do today?", "2026-03-04T00:00", "2026-03-05T00:00"),
        ("Europe/Berlin", "What did I do today?", "2026-03-04T23:00", "2026-03-05T23:00"),
        ("Asia/Tokyo", "What did I do today?", "2026-03-04T15:00", "2026-03-05T15:00"),
        ("America/Los_Angeles", "What did I do today?", "2026-03-04T08:00", "2026-03-05T08:00"),
        ("Europe/Berlin", "What did I do last Friday?", "2026-02-26T23:00", "2026-02-27T23:00"),
        ("Europe/Berlin", "What did I do in January?", "2025-12-31T23:00", "2026-01-31T23:00"),
        ("Asia/Tokyo", "What did I do in January?", "2025-12-31T15:00", "2026-01-31T15:00"),
        # summer time begins on 29 March
        ("Europe/Berlin", "What happened in April 2025?", "2025-03-31T22:00", "2025-04-30T22:00"),
    ],
)
def test_words_of_the_calendar_are_read_in_the_callers_time_zone(
    service: Any, zone: str, question: str, start: str, end: str
) -> None:
    """The window of the route, in UTC."""
    route = service.recall(question, now=NOW, time_zone=zone).route
    found = [moment.ToDatetime().isoformat()[:16] for moment in (route.window_start, route.window_end)]
    assert found == [start, end]


@pytest.mark.parametrize(
    "zone",
    ["Europe/Atlantis", "Europe", "../../etc/passwd", "/etc/localtime", "Europe/Berlin\n", "+02:00", "é",
     "A" * 65],
)  # fmt: skip
def test_an_unknown_time_zone_is_refused_by_name(service: Any, zone: str) -> None:
    """The message names the field and an example."""
    with pytest.raises(grpc.RpcError) as caught:
        service.recall("canteen menu", time_zone=zone)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details().startswith("time_zone: ")


@pytest.mark.parametrize("year", [1, 9999])
def test_the_edges_of_the_calendar_are_refused_beside_a_time_zone(service: Any, year: int) -> None:
    """A day of another zone would have no date there."""
    with pytest.raises(grpc.RpcError) as caught:
        service.recall("What did I do today?", now=datetime(year, 1, 1, tzinfo=UTC), time_zone="Asia/Tokyo")
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details().startswith("now: ")


DENTIST, AUDIT = "I went to the dentist yesterday.", "The audit is on 15 March."
SAYING = {"New York": datetime(2026, 3, 3, 20, tzinfo=timezone(timedelta(hours=-5))),
          "UTC": datetime(2026, 3, 4, 1, tzinfo=UTC),
          "Berlin": datetime(2026, 3, 4, 2, tzinfo=timezone(timedelta(hours=1)))}  # fmt: skip
"""One moment: the evening of 3 March in New York, the night to the 4th elsewhere."""


@pytest.fixture
def diary(corpus: Any, in_process: Any) -> Any:
    """Two texts with the times that ingest reads in them, said at one moment in three zones."""
    rows = []
    for place, said in SAYING.items():
        for text in (DENTIST, AUDIT):
            event = MessageEvent(event_id="e", tenant_id="acme", role="user", text=text, occurred_at=said)
            times = event_times(event, text, said)
            rows.append({"text": f"{text} {place}.", "event_start": times.start, "event_end": times.end,
                         "occurred_at": said.astimezone(UTC)})  # fmt: skip
    corpus.add(rows)
    corpus.publish()
    return in_process(corpus.root, channel_deadline_seconds=5, deadline_seconds=10)


def boosted(reply: Any) -> list[str]:
    """Texts that the time window of a query boosts."""
    return sorted(
        one.excerpt
        for one in reply.explanation.candidates
        if any(boost.name == "window" and boost.value > 1 for boost in one.boosts)
    )


def test_the_day_a_memory_speaks_of_is_one_date_for_every_caller(diary: Any) -> None:
    """15 March is only in its own window; "yesterday" is the day before in the zone of the speaker."""
    for zone in ("", "America/New_York", "Europe/Berlin", "Asia/Tokyo"):
        found = {}
        for day in (1, 2, 14, 15, 16):
            question = f"what is on {day} March 2026, dentist or audit?"
            found[day] = boosted(diary.recall(question, now=NOW, time_zone=zone, explain=True, top_k=6))
        assert {day: texts for day, texts in found.items() if texts} == {
            2: [f"{DENTIST} New York."],
            15: [f"{AUDIT} {place}." for place in ("Berlin", "New York", "UTC")],
        }, zone


def test_the_packed_context_dates_memories_by_days_of_the_caller(diary: Any) -> None:
    """A reader relates "yesterday" to that date."""
    for zone, date in (("", "2026-03-04"), ("America/New_York", "2026-03-03")):
        reply = diary.recall("when was the dentist?", now=NOW, time_zone=zone)
        assert f"{date}, user" in reply.context.text, zone


def test_an_event_that_dates_a_question_is_its_days_in_the_callers_zone(diary: Any) -> None:
    """The audit of 15 March, said in any zone, is found from New York."""
    route = diary.recall(
        "what happened during the audit?", now=NOW + 30 * DAY, time_zone="America/New_York"
    ).route
    window = [moment.ToDatetime().isoformat()[:16] for moment in (route.window_start, route.window_end)]
    assert window == ["2026-03-15T04:00", "2026-03-16T04:00"]
