"""Looking up an event that dates a question, in a real generation."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from helix_query.recall.routing.anchors import anchor_of, anchored_window
from helix_query.recall.routing.event_lookup import look_up_event
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.timex import EARLIEST, LATEST

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
MOVED = datetime(2026, 1, 10, 15, 30, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def generation(corpus: Any, tmp_path: Path) -> Any:
    """Forty plain memories, one event in two tenants, one event with a time of its own, one private."""
    rows = [{"text": f"Note {place}: we talked about the garden and the rain."} for place in range(40)]
    rows += [
        {"text": "The servers were moved to Lisbon today.", "occurred_at": MOVED},
        {
            "text": "The servers moved to Lisbon last year.",
            "tenant_id": "other",
            "occurred_at": MOVED - 300 * DAY,
        },
        {
            "text": "The regatta in Porto went well.",
            "occurred_at": MOVED + 20 * DAY,
            "event_start": MOVED + 5 * DAY,
            "event_end": MOVED + 7 * DAY,
        },
        {
            "text": "My eye surgery was on a Friday.",
            "owner": "ada",
            "user_id": "ada",
            "occurred_at": MOVED,
        },
    ]
    corpus.add(rows)
    number = corpus.publish()
    opened = Generation.open(corpus.root, number, scratch=tmp_path)
    yield opened
    opened.close()


def window_of(generation: Generation, query: str, selection: Selection) -> tuple[datetime, datetime] | None:
    """The window of an anchored question."""
    anchor = anchor_of(query)
    assert anchor is not None
    view = Visibility.of(generation, selection, NOW)
    found = look_up_event(anchor.phrase, view, lexicon=generation.lexicon, now=NOW)
    return anchored_window(anchor, found, now=NOW)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # the whole day of 10 January; "moved" and "move" have one stem
        ("what did we use before the move to Lisbon?", (EARLIEST, datetime(2026, 1, 11, tzinfo=UTC))),
        # the time the memory mentions, not when it occurred
        ("what broke after the regatta?", (datetime(2026, 1, 15, tzinfo=UTC), LATEST)),
        # words of nearly all memories, and a word of none
        ("what did we say after the garden talk?", None),
        ("what did we do before the eclipse?", None),
        # no memory contains both rare words
        ("what broke after the regatta in Lisbon?", None),
    ],
)
def test_an_event_is_dated_by_the_memory_that_describes_it(
    generation: Generation, query: str, expected: tuple[datetime, datetime] | None
) -> None:
    """The memory contains nearly all rare words and is in the caller's selection."""
    assert expected == window_of(generation, query, Selection(tenant_id="acme"))


def test_a_private_event_dates_questions_of_its_owner_only(generation: Generation) -> None:
    """The look-up is limited to what the caller may see."""
    query = "what did I read before my eye surgery?"
    assert window_of(generation, query, Selection(tenant_id="acme", user_id="bob")) is None
    own = window_of(generation, query, Selection(tenant_id="acme", user_id="ada"))
    assert own == (EARLIEST, datetime(2026, 1, 11, tzinfo=UTC))


def test_events_that_are_still_to_come_take_no_place_of_the_one_that_was(corpus: Any, tmp_path: Path) -> None:
    """Plans for the next regatta match the words better than what was said of the last one."""
    rows = [{"text": f"Note {place}: we talked about the garden and the rain."} for place in range(40)]
    rows += [
        {"text": "The regatta in Genoa.", "name": f"plan {n}", "occurred_at": NOW - n * DAY,
         "event_start": NOW + (20 + n) * DAY}
        for n in range(1, 6)
    ]  # fmt: skip
    rows.append(
        {"text": "We watched the regatta in Genoa from the pier and had lunch.", "occurred_at": MOVED}
    )
    corpus.add(rows)
    opened = Generation.open(corpus.root, corpus.publish(), scratch=tmp_path)
    try:
        found = window_of(opened, "What did we buy after the regatta in Genoa?", Selection("acme"))
    finally:
        opened.close()
    assert found is not None
    assert found[0] == MOVED.replace(hour=0, minute=0)
