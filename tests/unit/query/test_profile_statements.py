"""Which memories of a user are read for a profile."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_memory.vocabulary.facets import FACETS
from helix_query.generations.indexes.facet_index import STATIC, FacetIndex
from helix_query.recall.preferences import search
from helix_query.recall.user_profile.statements import FIRST_CHECKED, chosen_of
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.signals.columns import NO_TIME, code

COUNT = 4 * FIRST_CHECKED
VISIBLE = np.array([COUNT - 2, COUNT - 1])
"""The weakest: what is stronger is forgotten, or open to others alone."""


@pytest.fixture
def signals() -> Any:
    """Preferences of everybody in a tenant, each weaker than the one before."""
    return SimpleNamespace(
        facets=np.full(COUNT, 1 << FACETS.index("preference"), np.uint16),
        confidence=np.linspace(1.0, 0.2, COUNT),
        salience=np.full(COUNT, 0.5),
        priority=np.ones(COUNT),
        pinned=np.zeros(COUNT, np.bool_),
        occurred_at=np.zeros(COUNT, np.int64),
        tenant_code=np.full(COUNT, code("acme"), np.int64),
        owner_code=np.full(COUNT, code(""), np.int64),
        stream_sequence=np.arange(COUNT),
        event_start=np.full(COUNT, NO_TIME),
        event_end=np.full(COUNT, NO_TIME),
    )


@pytest.fixture
def visibility(signals: Any) -> Any:
    """A caller who sees two of them."""

    def is_visible(ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(ordinals, VISIBLE)

    return SimpleNamespace(selection=Selection("acme"), signals=signals, versions=None, is_visible=is_visible)


@pytest.fixture
def snapshot(signals: Any) -> Any:
    """Of these signals."""
    index = SimpleNamespace(value=FacetIndex.of(signals))
    return SimpleNamespace(generation=SimpleNamespace(signals=signals), facet_index=index)


def test_stronger_memories_that_are_hidden_take_no_place_in_a_profile(snapshot: Any, visibility: Any) -> None:
    """However many there are."""
    static, _ = chosen_of(snapshot, visibility, datetime(1970, 2, 1, tzinfo=UTC))
    assert static.part is STATIC
    assert [ordinal for ordinal, _ in static.scores] == VISIBLE.tolist()


def test_stronger_preferences_that_are_hidden_are_not_compared(
    snapshot: Any, visibility: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller's own are."""
    monkeypatch.setattr(search, "MAX_COMPARED", FIRST_CHECKED)
    query = SimpleNamespace(selection=visibility.selection)
    context: Any = SimpleNamespace(query=query, snapshot=snapshot, visibility=visibility)
    assert search._visible_preferences(context).tolist() == VISIBLE.tolist()


def test_a_preference_whose_record_is_gone_shifts_no_share_of_another() -> None:
    """The second one's record is erased; the third is of a speaker whom the query does not name."""
    records = [
        {"ordinal": 4, "speaker": "Caroline", "text": "I love soup."},
        {"ordinal": 6, "speaker": "Melanie", "text": "I love tea."},
    ]
    signals = SimpleNamespace(records=lambda _: records)
    query = SimpleNamespace(text="What should I cook for Caroline tonight?")
    context: Any = SimpleNamespace(query=query, generation=SimpleNamespace(signals=signals))
    shares = search._shares_by_person(context, np.array([4, 5, 6]))
    assert shares.tolist() == [1.0, 1.0, np.float32(search.OTHER_SPEAKER_FACTOR)]
