from datetime import UTC, datetime

import numpy as np
import pytest

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import Window
from helix_query.recall.routing.anchors import DatedMemory, EventMatches
from helix_query.recall.routing.centroids import Centroids
from helix_query.recall.routing.route import names_in, route
from helix_shared.timex import EARLIEST
from tests.unit.linear_time import Linear, Shape, repeated

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)  # a Wednesday
PLAIN = np.array([0.0, 1.0], np.float32)
CENTROIDS = Centroids((Intent.PREFERENCE,), np.array([[1.0, 0.0]], np.float32), PLAIN)


def test_the_caller_may_forbid_skipping() -> None:
    """Not even small talk is skipped then."""
    assert not route("thanks", PLAIN, now=NOW, centroids=CENTROIDS, may_skip=False).skip


def test_a_time_expression_becomes_a_window() -> None:
    """Last week, asked on Wednesday 4 March 2026, is Monday 23 February to Monday 2 March."""
    found = route("what did we discuss last week", PLAIN, now=NOW, centroids=CENTROIDS)
    week = (datetime(2026, 2, 23, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    assert found.window == Window(*week, is_alone=True)
    found = route("what did we discuss with Ida last week", PLAIN, now=NOW, centroids=CENTROIDS)
    assert found.window == Window(*week)


@pytest.mark.parametrize(
    ("query", "moment"),
    [
        # the end of the window, at most `now`; None for a future window and without one
        ("Which version did the gateway use in December 2020?", datetime(2021, 1, 1, tzinfo=UTC)),
        ("Which version did the gateway use this month?", NOW),
        ("What was the limit before May 2024?", datetime(2024, 5, 1, tzinfo=UTC)),
        ("What has changed since May 2024?", NOW),
        ("What is planned for next month?", None),
        ("Which version does the gateway use?", None),
    ],
)
def test_a_question_about_a_past_time_has_a_latest_moment(query: str, moment: datetime | None) -> None:
    """The end of the window, at most `now`."""
    assert moment == route(query, PLAIN, now=NOW, centroids=CENTROIDS).as_of_moment


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What does Caroline like to paint?", True),
        ("how does ludek take his coffee? (asked by Ida)", True),
        ("which day can i get into the new place", False),
        ("What is due on 3 March?", False),
    ],
)
def test_a_route_tells_whether_the_question_names_something(query: str, *, expected: bool) -> None:
    """A person or a thing by its name; a date is none."""
    assert route(query, PLAIN, now=NOW, centroids=CENTROIDS).names_something is expected


def test_an_event_is_looked_up_only_if_it_dates_the_question() -> None:
    """One look-up for "before the migration"; none for a date, a statement or a plain question."""
    looked_up = []

    def look_up_event(phrase: str) -> EventMatches:
        looked_up.append(phrase)
        start = datetime(2026, 1, 10, tzinfo=UTC)
        return EventMatches(
            {"migrat": 5.0}, [DatedMemory(frozenset(["migrat"]), start, datetime(2026, 1, 11, tzinfo=UTC))]
        )

    found = route(
        "What did we use before the migration?",
        PLAIN,
        now=NOW,
        centroids=CENTROIDS,
        look_up_event=look_up_event,
    )
    assert found.window == Window(EARLIEST, datetime(2026, 1, 11, tzinfo=UTC))
    assert found.as_of_moment == datetime(2026, 1, 11, tzinfo=UTC)
    assert "before 'the migration'" in found.reason
    for query in ("What did we use before May?", "Restart workers before the migration.", "Who is on call?"):
        route(query, PLAIN, now=NOW, centroids=CENTROIDS, look_up_event=look_up_event)
    assert looked_up == ["the migration"]


def test_an_event_that_no_memory_dates_leaves_no_window() -> None:
    """The reason names the event."""
    found = route(
        "what broke after the move?",
        PLAIN,
        now=NOW,
        centroids=CENTROIDS,
        look_up_event=lambda _: EventMatches({}),
    )
    assert found.window is None
    assert "no memory dates it: after 'the move'" in found.reason


def test_names_of_the_query_are_canonical() -> None:
    """Names and possible titles, in canonical form."""
    names = names_in("Who directed Polish Summer?")
    assert "polish summer" in names


def test_a_single_common_word_is_a_name_only_without_capitals() -> None:
    """A title "Director" may exist; only a query without capitals may name it."""
    assert "director" not in names_in("Who is the director of Polish Summer?")
    assert "caroline" in names_in("what did caroline plant")


@pytest.mark.parametrize(
    "piece",
    [
        "A ",
        "(",
        "same ",
        "1 + ",
        "hi ",
        "the a the a who who who ",
        "director of director of ",
        "'",
        "a_b/",
        "\x00",
        "Aa and Bb or ",
        "please ",
        '"',
    ],
)
def test_hostile_queries_are_routed_in_linear_time(piece: str, linear_patterns: Linear) -> None:
    """Every pattern is bounded."""
    assert not linear_patterns.failures(
        lambda query: route(query, PLAIN, now=NOW, centroids=CENTROIDS),
        texts=[*repeated(piece), Shape(f"translate {piece!r}", "translate ", piece)],
        characters=4_096,
    )


@pytest.mark.parametrize("year", [1, 9999])
@pytest.mark.parametrize(
    "query", ["what happened last week", "in two years", "since yesterday", "10,000 days ago"]
)
def test_the_first_and_last_years_may_be_the_time_of_the_question(year: int, query: str) -> None:
    """The caller sets `now`; windows that leave the calendar raise no error."""
    assert not route(query, PLAIN, now=datetime(year, 1, 1, tzinfo=UTC), centroids=CENTROIDS).skip
