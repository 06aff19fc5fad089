"""Whether a question is about what was: by its tense and by words of earlier times."""

import time

import pytest

from helix_query.profile.past import Past
from helix_query.recall.routing.history import past_of


@pytest.mark.parametrize(
    "query",
    [
        "Where do we store the backups?",
        "what's the budget for the kitchen?",
        "who is on call this week",
        "Is the old bridge still closed?",
        "which nurse takes the night shift now that Ines left?",
        "what do I have to bring before the surgery?",
        "Where did we end up putting the boat, currently?",
    ],
)
def test_what_holds(query: str) -> None:
    """Present tense, or a word for now."""
    assert past_of(query) is Past.NO


@pytest.mark.parametrize(
    "query",
    [
        "Which wood did the carpenter want for the door?",
        "who paid the deposit",
        "what was the fee",
        "who drove us?",
    ],
)
def test_the_past_tense_alone(query: str) -> None:
    """The first finite verb decides."""
    assert past_of(query) is Past.TENSE


@pytest.mark.parametrize(
    "query",
    [
        "What was the fee originally?",
        "where did I use to work before the hospital",
        "Which database did we run at the beginning?",
        "how often has the deadline moved?",
        "What used to be the gate code?",
        "history of the gate code",
        "How did the price of the roof change over time?",
    ],
)
def test_words_of_earlier_times(query: str) -> None:
    """With the past tense, or where changes are asked for."""
    assert past_of(query) is Past.SAID


def test_a_long_text_costs_no_more_than_its_beginning() -> None:
    """Also one that is made for the patterns."""
    started = time.perf_counter()
    for text in ("has " * 50_000, "all a " * 30_000, "how often " * 20_000, "x" * 200_000):
        past_of(text)
    assert time.perf_counter() - started < 0.5
