"""Filters: the mask over signals and the check of a row agree for every filter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.filter.filter import Filter
from helix_shared.artifacts.filter.filters import (
    FILTERS,
    EventTime,
    Projects,
    Sessions,
    Types,
    WithFlags,
    WithoutFlags,
)
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.writer import SignalsWriter

START = datetime(2026, 1, 1, tzinfo=UTC)
EXAMPLES: list[Filter] = [
    Types(("decision", "code")),
    Projects(("p", "")),
    Sessions(("s2",)),
    EventTime(START + timedelta(days=1), START + timedelta(days=4)),
    EventTime(after=START + timedelta(days=1)),
    EventTime(before=START + timedelta(days=4)),
    WithFlags(("secret", "instruction")),
    WithoutFlags(("instruction", "secret")),
]


def rows() -> list[dict[str, Any]]:
    """Rows with different types, projects, sessions and event times."""
    return [
        {
            "type": ("episodic", "decision", "code")[number % 3],
            "project_id": ("p", "q", "")[number % 4 % 3],
            "session_id": f"s{number % 5}",
            "occurred_at": START + timedelta(days=number % 7),
            "event_at": START + timedelta(days=number % 7),
            "flags": ([], ["instruction"], [], ["secret", "invisible"], ["invisible"])[number % 5],
        }
        for number in range(60)
    ]


@pytest.fixture
def signals(tmp_path: Path, records: Callable[[list[dict[str, Any]]], pa.Table]) -> Signals:
    """The signals of the rows."""
    SignalsWriter.open(tmp_path / "s").append(*signals_of(records(rows())))
    return Signals.open(tmp_path / "s")


@pytest.mark.parametrize("chosen", EXAMPLES, ids=str)
def test_a_mask_selects_the_rows_that_pass(signals: Signals, chosen: Filter) -> None:
    """The mask equals the check of each row, and some rows pass and some do not."""
    mask = chosen.mask(signals, np.arange(60))
    assert mask.tolist() == [not chosen.excluding(row) for row in rows()]
    assert 0 < np.count_nonzero(mask) < 60


def test_every_filter_has_an_example() -> None:
    """A new filter needs an example above."""
    assert {type(one) for one in EXAMPLES} == set(FILTERS)


def test_a_selection_applies_all_filters_and_can_drop_one(signals: Signals) -> None:
    """`among` combines the masks; `without` removes the filters of one class."""
    selection = Selection("acme", filters=(Types(("code",)), Sessions(("s2",))))
    expected = [row["type"] == "code" and row["session_id"] == "s2" for row in rows()]
    assert selection.restrict(signals, np.arange(60), np.ones(60, np.bool_)).tolist() == expected
    assert selection.without(Types).filters == (Sessions(("s2",)),)
    assert selection.unfiltered() == Selection("acme")
