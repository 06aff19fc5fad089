from datetime import UTC, datetime, timedelta

import pytest

from helix_query.recall.routing.anchors import Anchor, DatedMemory, EventMatches, anchor_of, anchored_window
from helix_shared.timex import EARLIEST, LATEST

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)
MIGRATION = datetime(2026, 1, 10, tzinfo=UTC)


def dated(terms: str, start: datetime) -> DatedMemory:
    """A memory with these terms that happened on the day from `start`."""
    return DatedMemory(frozenset(terms.split()), start, start + DAY)


def found(*memories: DatedMemory, **rarity: float) -> EventMatches:
    """The result of a look-up."""
    return EventMatches(rarity, memories)


@pytest.mark.parametrize(
    ("query", "anchor"),
    [
        ("What did we use before the migration?", Anchor("before", "the migration")),
        (
            "what has changed since the release of the new parser?",
            Anchor("since", "the release of the new parser"),
        ),
        ("Before the audit, who owned the keys?", Anchor("before", "the audit")),
        ("After she moved to Oslo what did she plant?", Anchor("after", "she moved to Oslo")),
        ("What broke during Tom's holiday?", Anchor("during", "Tom's holiday")),
        ("What did we do two weeks after the launch?", Anchor("after", "the launch", 14 * DAY)),
        ("what happened the day before my exam", Anchor("before", "my exam", DAY)),
        ("Where was he before moving north?", Anchor("before", "moving north")),
        ("What did we decide last week?", None),
        ("Is this still needed after all?", None),
        ("what happens after that", None),
        ("What is the port of the gateway?", None),
    ],
)
def test_an_event_after_a_word_of_time_is_an_anchor(query: str, anchor: Anchor | None) -> None:
    """The relation, the words for the event, and the distance from it."""
    assert anchor == anchor_of(query)


@pytest.mark.parametrize(
    ("anchor", "start", "end"),
    [
        (Anchor("before", "the migration"), EARLIEST, MIGRATION + DAY),
        (Anchor("until", "the migration"), EARLIEST, MIGRATION + DAY),
        (Anchor("after", "the migration"), MIGRATION, LATEST),
        (Anchor("since", "the migration"), MIGRATION, NOW),
        (Anchor("during", "the migration"), MIGRATION, MIGRATION + DAY),
        (Anchor("after", "the migration", 14 * DAY), MIGRATION, MIGRATION + 15 * DAY),
        (Anchor("before", "the migration", 7 * DAY), MIGRATION - 7 * DAY, MIGRATION + DAY),
    ],
)
def test_the_relation_decides_the_window(anchor: Anchor, start: datetime, end: datetime) -> None:
    """The event lasts the day of 10 January 2026, which is part of every window."""
    window = anchored_window(anchor, found(dated("migrat databas", MIGRATION), migrat=5.0), now=NOW)
    assert window == (start, end)


def test_a_memory_must_contain_nearly_all_rare_words() -> None:
    """Of rarity 4 + 4 + 1 one covers 8 / 9 = .89, the other 5 / 9 = .56; .85 is needed."""
    anchor = Anchor("before", "the harbour festival day")
    rarity = {"harbour": 4.0, "festiv": 4.0, "day": 1.0}
    whole, part = dated("harbour festiv", MIGRATION), dated("harbour day", MIGRATION)
    assert anchored_window(anchor, found(part, whole, **rarity), now=NOW) == (EARLIEST, MIGRATION + DAY)
    assert anchored_window(anchor, found(part, **rarity), now=NOW) is None


def test_an_event_of_several_times_has_no_window() -> None:
    """Two memories that contain the phrase are a month apart, so the event is ambiguous."""
    anchor = Anchor("after", "the party")
    near = found(dated("parti", MIGRATION), dated("parti", MIGRATION + 10 * DAY), parti=3.0)
    far = found(dated("parti", MIGRATION), dated("parti", MIGRATION + 31 * DAY), parti=3.0)
    assert anchored_window(anchor, near, now=NOW) == (MIGRATION, LATEST)
    assert anchored_window(anchor, far, now=NOW) is None


def test_common_words_give_no_window() -> None:
    """Neither does a phrase that no memory contains."""
    assert anchored_window(Anchor("before", "the day"), EventMatches({}), now=NOW) is None
    assert anchored_window(Anchor("before", "the eclipse"), EventMatches({"eclips": 9.0}), now=NOW) is None


def test_a_distance_beyond_the_calendar_ends_at_its_bounds() -> None:
    """No error is raised."""
    first = datetime(1, 1, 2, tzinfo=UTC)
    window = anchored_window(
        Anchor("before", "the flood", 365 * DAY), found(dated("flood", first), flood=9.0), now=NOW
    )
    assert window == (EARLIEST, first + DAY)
