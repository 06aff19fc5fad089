"""A question that names nothing but a time gets what happened then, not what says the same words."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from helix_query.recall.routing.strip_times import asks_for_time_alone
from helix_shared.encoders.encoder import Encoder

from .past import NOW, Past, served_from

pytestmark = pytest.mark.integration

DAY = timedelta(days=1)
SAYS_SO = "What happened last week was a mess, so last week does not count."
THEN = "The heating engineer replaced the valve in the cellar."
ROWS: list[dict[str, Any]] = [
    {"name": "says so", "text": SAYS_SO, "occurred_at": NOW - 120 * DAY},
    {"name": "then", "text": THEN, "occurred_at": NOW - 7 * DAY},
    *({"name": f"{n}", "text": f"Row {n} of the orchard has {n} pear trees.", "occurred_at": NOW - 60 * DAY}
      for n in range(20)),
]  # fmt: skip


@pytest.fixture
def house(corpus: Any, encoder: Encoder) -> Iterator[Past]:
    """One memory of last week, and an earlier one that speaks of a last week."""
    past = served_from(corpus.root, encoder, corpus, [dict(row) for row in ROWS])
    yield past
    past.served.generation.close()


def test_what_happened_then_goes_first(house: Past) -> None:
    """However many words of the question the other one has."""
    found = house.ask("What happened last week?", now=NOW).rows
    assert found[0].row["text"] == THEN


@pytest.mark.parametrize(
    ("query", "is_alone"),
    [
        ("what did we do yesterday", True),
        ("any news from last month?", True),
        ("What did Ana repair last week?", False),
        ("where did we eat last Friday", False),
        ("what happened?", False),
        ("what's planned for next week", True),
        ("where will I work in July?", False),
        ("where did I work in 2019?", False),
        ("who did I work with last year?", False),
        ("who told me yesterday?", False),
        ("how long did we work yesterday", False),
    ],
)
def test_a_query_names_nothing_but_a_time(query: str, *, is_alone: bool) -> None:
    """Words that ask for whatever there was do not count."""
    assert asks_for_time_alone(query, datetime(2026, 3, 4, tzinfo=UTC)) is is_alone
