"""Which queries are skipped. The lists in tests/golden/routing were written before the rules.

Every second query of `no_memory.json` was held out when the rules were tuned.
"""

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
PLAIN = np.array([0.0, 1.0], np.float32)
CENTROIDS = Centroids((Intent.PREFERENCE,), np.array([[1.0, 0.0]], np.float32), PLAIN)
GOLDEN = Path(__file__).parents[3] / "golden/routing"
NO_MEMORY: dict[str, list[str]] = json.loads((GOLDEN / "no_memory.json").read_text(encoding="utf-8"))
NEEDS_MEMORY: list[str] = json.loads((GOLDEN / "needs_memory.json").read_text(encoding="utf-8"))
MIN_SKIPPED = 0.8

SKIPPED = [
    "what is 17 * 23",
    "17 * 23",
    "What's 12 + 30?",
    "calculate (3 + 4) * 2",
    "how much is 100 divided by 7?",
    "please compute 2 ^ 10",
    "what is the square root of 144?",
    "what is 15% of 80?",
    "convert 10 km to miles",
    "what is 30 celsius in fahrenheit?",
    "hi",
    "Hello there!",
    "good morning",
    "thanks a lot!",
    "Thank you so much.",
    "ok, great, thanks",
    "bye",
    "format this as JSON: colour red, size large",
    "translate 'how are you' to French",
    "please translate this sentence into German: the weather is nice",
]

NOT_SKIPPED = [
    "what is the port of staging",
    "what is my name",
    "what is our deadline",
    "did I finish the report",
    "what did we decide",
    "where does Caroline work",
    "hello, what did Caroline say?",
    "thanks, and what about the database?",
    "hi, who is on call",
    "what is in src/main.py",
    "what does error E1234 mean",
    "format my notes as JSON",
    "format this as JSON: what I told you yesterday",
    "format this as JSON: Caroline, Melanie, Tom",
    "format the release notes as a table",
    "format these values as a list: our three ports",
    "translate the release notes to French",
    "translate what she said to German",
    "translate 'what did I say about the trip' to French",
    "translate this to French: see config/app.toml",
    "translate 'meet Anna on Friday' to German",
    "how do I restart the worker",
    "what is 17 * the rate we agreed on",
    "what is the sum of the invoices",
    "how much is the rent",
    "convert the report to markdown",
    "convert 10 invoices to the new format",
    "what is 2024-05-01 about",
    "what happened on 3/4",
    "what is 192.168.0.1",
    "what is version 1.2",
    "how many children do they have",
    "tell me about the trip",
    "what is the capital of France",
    "when is the next meeting",
    "good morning, anything new since last night?",
    "ok so what was the password policy",
    "bye bye birdie tickets",
    "who is she",
    "nice restaurants she likes",
    "what time is it in the Tokyo office",
    "42",
]


def is_skipped(query: str) -> bool:
    """Whether a query is skipped."""
    return route(query, PLAIN, now=NOW, centroids=CENTROIDS).skip


def half(number: int) -> list[str]:
    """Every second query of each kind: 0 those tuned on, 1 those held out."""
    return [query for queries in NO_MEMORY.values() for query in queries[number::2]]


def test_the_lists_are_long_enough_and_distinct() -> None:
    """At least 200 queries that need no memory, at least 120 that do, none twice."""
    without = half(0) + half(1)
    assert len(set(without)) == len(without) >= 200
    assert len(set(NEEDS_MEMORY)) == len(NEEDS_MEMORY) >= 120


@pytest.mark.parametrize("number", [0, 1], ids=["tuned on", "held out"])
def test_most_of_what_needs_no_memory_is_skipped(number: int) -> None:
    """At least 80% of each half."""
    queries = half(number)
    assert sum(map(is_skipped, queries)) >= MIN_SKIPPED * len(queries)


@pytest.mark.parametrize("query", NEEDS_MEMORY)
def test_nothing_that_needs_memory_is_skipped(query: str) -> None:
    """A wrongly skipped question is costly, so there must be none."""
    assert not is_skipped(query)


@pytest.mark.parametrize("query", SKIPPED)
def test_what_needs_no_memory_is_skipped(query: str) -> None:
    """Arithmetic, conversions, small talk, and work on text that the query contains."""
    found = route(query, PLAIN, now=NOW, centroids=CENTROIDS)
    assert found.skip
    assert found.reason


@pytest.mark.parametrize("query", NOT_SKIPPED)
def test_what_may_need_memory_is_not_skipped(query: str) -> None:
    """The past of a person, a name, a path, a code or a time."""
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
def test_arithmetic_has_numbers_and_operations_only(folded: str, expected: bool) -> None:
    """Any other word rules it out, and so does a possible date, version or address."""
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
    """Distance over time is not a conversion, nor is a quantity without a unit."""
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
def test_every_clause_must_be_small_talk(folded: str, expected: bool) -> None:
    """A request to continue and a question for news are not."""
    assert is_small_talk(folded) is expected


def test_play_has_no_subject_of_the_caller() -> None:
    """Asking for any joke is play; asking for a joke of a certain person is not."""
    assert play_reason("tell me a joke") == "play"
    assert play_reason("flip a coin") == "chance"
    assert play_reason("count to ten") == "echo"
    assert not play_reason("tell me the joke sam told")
    assert not play_reason("write a poem about our holiday")
    assert not play_reason("flip the feature flag")


def test_supplied_text_is_the_query_without_the_instruction() -> None:
    """An instruction with words outside the vocabulary does not match."""
    sorting = supplied_text("Sort these numbers: 9, 2, 7")
    assert sorting is not None
    assert (sorting.kind, sorting.text) == ("data", "9, 2, 7")
    translated = supplied_text('how do you say "good night" in Polish?')
    assert translated is not None
    assert (translated.kind, translated.text) == ("wording", "good night")
    assert supplied_text("fix the grammar in the draft I sent: chapter two") is None
    assert supplied_text("fix: the login page") is None
    assert supplied_text('what does "blue folder" mean in our team') is None


def test_a_question_about_one_word_needs_no_memory() -> None:
    """Spelling or forms of one plain word; a capital marks a name."""
    assert asks_about_word("how do you spell necessary")
    assert asks_about_word("What is the plural of octopus")
    assert not asks_about_word("how do you spell Siobhan")
    assert not asks_about_word("how do you spell my name")
