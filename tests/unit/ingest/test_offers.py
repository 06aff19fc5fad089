"""Offers of help: what proposes it, and which replies take it up."""

from __future__ import annotations

import pytest

from helix_ingest.extraction.acts.offers import is_offer, takes_up
from tests.unit.ingest.test_answered_question import statement

GENERAL = (
    "Anything I can help with?",
    "Is there anything else I can do for you?",
    "How can I help you today?",
    "Anything else?",
    "Need a hand?",
)
NAMED = (
    "Want me to add it to your calendar?",
    "Shall I move the appointment?",
    "Do you want help with the tax?",
)


@pytest.mark.parametrize("offer", [*GENERAL, *NAMED])
def test_what_proposes_help_is_an_offer(offer: str) -> None:
    """Whoever says it."""
    assert is_offer(offer, by_assistant=False)


@pytest.mark.parametrize(
    "question",
    [
        "Do you want tea or coffee?",
        "What can I do about the mice?",
        "How can we help Mum?",
        "Can you help me with the taxes?",
        "Which oil shall it be?",
        "Is there any way we can do this cheaper?",
        "",
    ],
)
def test_what_asks_for_something_is_none(question: str) -> None:
    """A request, or a question for advice."""
    assert not is_offer(question, by_assistant=True)


def test_should_i_is_an_offer_of_an_assistant_only() -> None:
    """A person who says so asks for advice."""
    assert is_offer("Should I book the table?", by_assistant=True)
    assert not is_offer("Should I book the table?", by_assistant=False)


@pytest.mark.parametrize("offer", GENERAL)
@pytest.mark.parametrize(
    "reply", ["My sister moved to Graz last week.", "No, that is all. My shift starts at 6 now."]
)
def test_a_new_subject_answers_no_offer(offer: str, reply: str) -> None:
    """Not even behind a "no"."""
    assert statement(("assistant", offer), ("Mira", reply)) == ""


def test_a_statement_of_its_own_answers_no_named_offer() -> None:
    """It begins with its own subject, points at nothing, and shares no word."""
    offer = "Want me to add it to your calendar?"
    assert statement(("assistant", offer), ("Mira", "My new shift starts at 6 on Monday")) == ""


@pytest.mark.parametrize(
    ("offer", "reply"),
    [
        ("Want me to add it to your calendar?", "Yes please, with a reminder the day before"),
        ("Want me to add it to your calendar?", "no"),
        ("Shall I move the appointment?", "Leave the appointment where it is"),
        ("Shall I tell the landlord?", "I did that already"),
        ("Shall I book the van?", "let me sleep on it"),
        ("Should I order the boards?", "Not yet, the client has to confirm the oil first"),
    ],
)
def test_a_reply_that_takes_an_offer_up_answers_it(offer: str, reply: str) -> None:
    """A yes, a no, or the words of the help."""
    assert statement(("assistant", offer), ("Mira", reply)) == f"{offer} {reply}"


def test_long_text_is_read_in_bounded_time() -> None:
    """Only the beginning is read."""
    assert not is_offer("anything " * 20_000, by_assistant=True)
    assert not takes_up("we all " * 20_000, "want me to " * 20_000)
