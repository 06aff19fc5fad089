"""How many examples the tests try: a part of them in `make test`, all of them in `make faults`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import pytest
from hypothesis import is_hypothesis_test

PART: Final = 0.4
"""Of the examples of a property, in `make test`."""
FEWEST: Final = 2
ALL: Final = os.environ.get("HELIX_ALL_EXAMPLES") == "1"
"""Set by `make faults`, which also runs the properties that are not marked."""


def examples(most: int) -> int:
    """What a property gives Hypothesis for `max_examples`."""
    return most if ALL else max(min(FEWEST, most), round(PART * most))


def seeds(most: int, *, part: int) -> list[object]:
    """The numbers below `most` as parameters; those from `part` on are marked as long."""
    rest = (pytest.param(seed, marks=pytest.mark.long) for seed in range(part, most))
    return [*range(part), *rest]


def mark_properties(items: Iterable[pytest.Item]) -> None:
    """Mark the properties as long, so that `make faults` selects them."""
    for item in items:
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.long)
