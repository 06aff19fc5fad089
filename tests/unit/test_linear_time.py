"""The control of all tests of linear time."""

import re

import pytest

from .linear_time import Linear, Use, repeated

PATTERN = re.compile(r"a*c")
"""Quadratic on a run of a: it is read to its end from each of them."""


def pairs(text: str) -> int:
    """Looks from each second place to the end."""
    return sum(text[at:].count("c") for at in range(0, len(text), 2))


@pytest.mark.parametrize(
    ("use", "characters"), [(PATTERN.findall, 10_000), (pairs, 50_000)], ids=["pattern", "function"]
)
def test_quadratic_time_is_found(use: Use, characters: int, linear_patterns: Linear) -> None:
    """Whether the time is that of a pattern or of a function."""
    assert linear_patterns.failures(use, texts=repeated("a"), characters=characters)


def test_linear_time_is_not(linear_patterns: Linear) -> None:
    """Also where it is more than the floor."""
    assert not linear_patterns.failures(lambda text: sum(map(ord, text * 20)), texts=repeated("a"))


def test_a_long_beginning_is_found() -> None:
    """Time that does not grow with the text is bounded as well."""
    started = "a" * 200_000  # it is ended after the time allowed; a fast machine reads 40,000 in a second
    beginnings = Linear(floor_seconds=0.025, most_seconds=0.25)
    assert beginnings.failures(lambda _: PATTERN.findall(started), texts=repeated("a")) == [
        "on 'a': more than 0.25 s"
    ]
