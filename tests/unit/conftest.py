"""Linear time, for patterns and for whole steps."""

import pytest

from .linear_time import Linear


@pytest.fixture
def linear_patterns() -> Linear:
    """For one pattern."""
    return Linear(floor_seconds=0.025, most_seconds=4.0)


@pytest.fixture
def linear_functions() -> Linear:
    """For a whole step of a service."""
    return Linear(floor_seconds=0.5, most_seconds=30.0)


@pytest.fixture
def linear_beginnings() -> Linear:
    """For a step that reads the beginning of a text: it takes less than a second, however long that is."""
    return Linear(floor_seconds=0.025, most_seconds=2.0)
