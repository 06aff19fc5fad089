"""A turn that takes the one before it back, and turns that only look so."""

from __future__ import annotations

import pytest

from helix_consolidation.relations.decide import decide
from helix_consolidation.relations.statement import RETRACTS, Candidate, Statement

from .test_decide import said

JOKE = "We are moving to Oslo."
BEFORE = f"user: {JOKE}\nassistant: Congratulations!"


def turn(text: str, context: str = "", **fields: object) -> Statement:
    """A turn of one session."""
    return said(text, **({"session": 7, "context": context} | fields))


def retracted_by(new: Statement, *older: Statement) -> list[int]:
    """Which of the older statements are closed as not meant."""
    found = decide(new, [Candidate(one, cosine=0.1) for one in older])
    return [one.older for one in found if one.closes and RETRACTS in one.evidence]


@pytest.mark.parametrize(
    "text",
    [
        "Just kidding.",
        "jk",
        "JK!",
        "haha, just kidding",
        "Only joking!!",
        "I was joking, sorry",
        "lol jk",
        "That was a joke.",
        "i'm kidding \U0001f602",
        "No, just kidding!",
        "it's only a joke",
    ],
)
def test_a_turn_of_its_own_takes_back_the_last_turn_of_its_speaker(text: str) -> None:
    """With one turn of somebody else between at most."""
    earlier, joke = turn("We live in Bergen."), turn(JOKE)
    assert retracted_by(turn(text, BEFORE), earlier, joke) == [1]
    assert retracted_by(turn(text, f"user: {JOKE}"), earlier, joke) == [1]


def test_a_second_one_takes_nothing_back() -> None:
    """It would bring the joke back, and many in a row would hang on one another."""
    joke, first = turn(JOKE), turn("Just kidding.", BEFORE)
    assert retracted_by(turn("lol jk", "user: Just kidding."), joke, first) == []


@pytest.mark.parametrize(
    "text",
    [
        "I was not joking.",
        "No joke.",
        "Are you kidding?",
        "Just kidding around with the children.",
        "ok",
        "Just kidding about the flat, the move is real.",
        "The joke was good.",
        "JK Rowling",
    ],
)
def test_what_only_speaks_of_jokes_takes_nothing_back(text: str) -> None:
    """It says something of its own."""
    assert retracted_by(turn(text, BEFORE), turn(JOKE)) == []


@pytest.mark.parametrize(
    ("fields", "context"),
    [
        ({"session": 8}, BEFORE),
        ({"role": "assistant"}, BEFORE),
        ({"speaker": "Ana"}, BEFORE),
        ({"is_derived": True}, BEFORE),
        ({}, f"{BEFORE}\nuser: Did you burn the house?"),
        ({}, "user: Something else.\nassistant: Really?"),
        ({}, ""),
    ],
)
def test_no_other_statement_is_taken_back(fields: dict[str, object], context: str) -> None:
    """Of another session or speaker, derived, further back, or not in the context at all."""
    assert retracted_by(turn("Just kidding.", context), turn(JOKE, **fields)) == []
