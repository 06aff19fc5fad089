"""`valid_at`: what had happened and held at a moment, also where all of it was imported later."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import scope_of
from helix_query.recall.packing.memory import get_memory
from helix_query.recall.result import RecallResult
from helix_shared.encoders.encoder import Encoder
from helix_shared.errors import NotFoundError
from helix_shared.identity import memory_id

from .past import NOW, Past, served_from

pytestmark = pytest.mark.integration

MARCH = datetime(2025, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ACME = recall_pb2.Scope(tenant_id="acme")
ROWS: list[dict[str, Any]] = [
    {"name": "old", "text": "The choir meets on Tuesdays.", "occurred_at": MARCH, "hidden": True,
     "is_latest": False, "superseded_by": memory_id("acme", "acme/new", 0), "created_at": NOW - 9 * DAY},
    {"name": "lent", "text": "The choir may use the parish hall.", "occurred_at": MARCH + DAY,
     "valid_to": MARCH + 5 * DAY, "created_at": NOW - 9 * DAY},
    {"name": "new", "text": "The choir meets on Fridays now.", "occurred_at": MARCH + 10 * DAY,
     "created_at": NOW - 2 * DAY},
]  # fmt: skip


@pytest.fixture
def choir(corpus: Any, encoder: Encoder) -> Iterator[Past]:
    """A value, its replacement ten days later, and a permission for some days; all imported much later."""
    past = served_from(corpus.root, encoder, corpus, [dict(row) for row in ROWS])
    yield past
    past.served.generation.close()


def names(answer: RecallResult) -> set[str]:
    """Names of the rows."""
    by_id = {memory_id("acme", f"acme/{row['name']}", 0): row["name"] for row in ROWS}
    return {by_id[found.row["memory_id"]] for found in answer.rows}


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_only_what_had_happened_and_held_comes_back(choir: Past, mode: int) -> None:
    """A closing by a memory that occurred later does not count; what came later is not there."""

    def at(moment: datetime, **fields: Any) -> set[str]:
        return names(choir.ask("when does the choir meet", valid_at=moment, mode=mode, **fields))

    assert at(MARCH - DAY) == set()
    assert at(MARCH) == {"old"}
    assert at(MARCH + 3 * DAY) == {"old", "lent"}
    assert at(MARCH + 9 * DAY) == {"old"}
    assert at(MARCH + 10 * DAY) == {"new"}


def test_both_axes_hold_together(choir: Past) -> None:
    """Before the replacement was imported, the old value was all that was known of the days after it."""
    after = MARCH + 20 * DAY
    assert names(choir.ask("when does the choir meet", valid_at=after)) == {"new"}
    assert names(choir.ask("when does the choir meet", valid_at=after, as_of=NOW - 5 * DAY)) == {"old"}
    assert names(choir.ask("when does the choir meet", valid_at=after, as_of=NOW - 10 * DAY)) == set()
    assert names(choir.ask("when does the choir meet")) == {"new"}


def test_a_memory_is_read_as_it_held_then(choir: Past) -> None:
    """By id under the same rule, and not yet superseded."""
    old, _, new = choir.ids
    scope = scope_of(ACME, recall_pb2.GetMemoryRequest(valid_at=MARCH + 3 * DAY))
    row, _ = get_memory(old, scope, choir.served, now=NOW)
    assert row["superseded_by"] == ""
    with pytest.raises(NotFoundError):
        get_memory(new, scope, choir.served, now=NOW)
