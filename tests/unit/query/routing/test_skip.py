"""The two lists in tests/golden/routing were written before the rules; half of one was never tuned on."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from helix_query.profile.intent import Intent
from helix_query.recall.routing.arithmetic import is_arithmetic, is_conversion
from helix_query.recall.routing.centroids import Centroids
from helix_query.recall.routing.route import route
from helix_query.recall.routing.small_talk import is_small_talk, play_reason
from helix_query.recall.routing.supplied_text import asks_about_word, supplied_text

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
NOWHERE = Centroids(
    (Intent.PREFERENCE,), np.array([[1.0, 0.0]], np.float32), np.array([0.0, 1.0], np.float32)
)
PLAIN = np.array([0.0, 1.0], np.float32)
GOLDEN = Path(__file__).parents[3] / "golden/routing"
NO_MEMORY: dict[str, list[str]] = json.loads((GOLDEN / "no_memory.json").read_text(encoding="utf-8"))
NEEDS_MEMORY: list[str] = json.loads((GOLDEN / "needs_memory.json").read_text(encoding="utf-8"))
LEAST_SKIPPED = 0.8


def is_skipped(query: str) -> bool:
    """Whether the router needs no memory for a query."""
    return route(query, PLAIN, now=NOW, centroids=NOWHERE).skip


def half(of: int) -> list[str]:
    """Every second query of every kind, from the first (0, tuned on) or the second (1, held out)."""
    return [query for queries in NO_MEMORY.values() for query in queries[of::2]]


def test_the_lists_are_long_enough_and_distinct() -> None:
    """At least 200 queries that need no memory, at least 120 that do, none twice."""
    without = half(0) + half(1)
    assert len(set(without)) == len(without) >= 200
    assert len(set(NEEDS_MEMORY)) == len(NEEDS_MEMORY) >= 120


@pytest.mark.parametrize("of", [0, 1], ids=["tuned on", "held out"])
def test_most_of_what_needs_no_memory_is_skipped(of: int) -> None:
    """At least 80 % of each half."""
    queries = half(of)
    assert sum(map(is_skipped, queries)) >= LEAST_SKIPPED * len(queries)


@pytest.mark.parametrize("query", NEEDS_MEMORY)
def test_nothing_that_needs_memory_is_skipped(query: str) -> None:
    """A wrongly skipped question is costly: not one."""
    assert not is_skipped(query)


@pytest.mark.parametrize(
    ("folded", "expected"),
    [
        ("3/4 + 5/8 = ?", True),
        ("15% of 80", True),
        ("solve 3x + 5 = 20", True),
        ("3/4", False),
        ("2024-05-01", False),
        ("5-3", False),
        ("10.0.0.1", False),
        ("15% of the budget", False),
        ("add the milk to my list", False),
    ],
)
def test_a_sum_is_numbers_and_operations_alone(folded: str, expected: bool) -> None:
    """One word more, or what may be a date, a version or an address, is looked up."""
    assert is_arithmetic(folded) is expected


@pytest.mark.parametrize(
    ("folded", "expected"),
    [
        ("5 miles to kilometers", True),
        ("how many ounces are in a pound?", True),
        ("what is 42 in binary", True),
        ("5 km in 30 minutes", False),
        ("how many seconds is the lease", False),
        ("convert 10 invoices to euros", False),
    ],
)
def test_a_conversion_has_two_units_of_one_dimension(folded: str, expected: bool) -> None:
    """Distance over time converts nothing, and neither does a thing of the caller's."""
    assert is_conversion(folded) is expected


@pytest.mark.parametrize(
    ("folded", "expected"),
    [
        ("ok, great, thanks", True),
        ("hey there!", True),
        ("thanks, and what about the database?", False),
        ("continue", False),
        ("what's new", False),
        ("hi, hi, hi, hi, hi, hi", False),
    ],
)
def test_small_talk_is_small_talk_in_every_clause(folded: str, expected: bool) -> None:
    """What may ask to go on where we stopped, or for news, is looked up."""
    assert is_small_talk(folded) is expected


def test_play_has_no_subject_of_the_callers() -> None:
    """A joke is; the joke somebody told is not."""
    assert play_reason("tell me a joke") == "play"
    assert play_reason("flip a coin") == "chance"
    assert play_reason("count to ten") == "echo"
    assert not play_reason("tell me the joke sam told")
    assert not play_reason("write a poem about our holiday")
    assert not play_reason("flip the feature flag")


def test_given_text_is_what_the_instruction_leaves() -> None:
    """The instruction is made of a closed vocabulary; anything else in it names something."""
    given = supplied_text("Sort these numbers: 9, 2, 7")
    assert given is not None
    assert (given.kind, given.material) == ("data", "9, 2, 7")
    quoted = supplied_text('how do you say "good night" in Polish?')
    assert quoted is not None
    assert (quoted.kind, quoted.material) == ("wording", "good night")
    assert supplied_text("fix the grammar in the draft I sent: chapter two") is None
    assert supplied_text("fix: the login page") is None
    assert supplied_text('what does "blue folder" mean in our team') is None


def test_a_question_about_one_word_is_closed() -> None:
    """Spelling, forms, rhymes of one plain word; a name keeps its capital and is looked up."""
    assert asks_about_word("how do you spell necessary")
    assert asks_about_word("What is the plural of octopus")
    assert not asks_about_word("how do you spell Siobhan")
    assert not asks_about_word("how do you spell my name")
