"""The memories that may date an event."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np

from helix_query.recall.routing.event_lookup import LIMIT, look_up_event
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import NO_TIME

COUNT = 50
EVENT = LIMIT + 1
"""The memory that tells the event; those that match its words better have expired, or came later."""


def search(_words: str, _selection: Any, *, limit: int, weights: Any) -> Hits:  # noqa: ARG001
    """Every memory, the first ones best."""
    found = min(limit, COUNT)
    return Hits(np.arange(found), np.linspace(1.0, 0.5, found).astype(np.float32))


def test_memories_that_do_not_count_take_no_place_of_the_event() -> None:
    """As of a past moment those that came later would hide it."""
    scopes = SimpleNamespace(size=100, document_frequency=lambda *_: 1)
    lexicon: Any = SimpleNamespace(
        scopes=lambda _: scopes, terms=lambda word, _: [word.lower()], search=search
    )
    signals = SimpleNamespace(
        records=lambda some: [{"ordinal": one, "text": "the migration"} for one in some.tolist()],
        event_start=np.full(COUNT, NO_TIME),
        event_end=np.full(COUNT, NO_TIME),
        occurred_at=np.zeros(COUNT, np.int64),
    )
    visibility: Any = SimpleNamespace(
        selection=None, signals=signals, is_valid_at=lambda ordinals: ordinals == EVENT
    )
    found = look_up_event("migration", visibility, lexicon=lexicon, now=datetime(2026, 1, 1, tzinfo=UTC))
    assert [one.start for one in found.memories] == [datetime(1970, 1, 1, tzinfo=UTC)]
