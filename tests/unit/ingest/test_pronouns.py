"""Pronouns: a statement with the name stands beside a turn where the person is sure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_ingest.extraction.drafts import CONTEXT_TURNS, SESSION_TURNS, drafts_of
from helix_ingest.extraction.persons.mentions import mentions
from helix_ingest.extraction.persons.pronouns import Turn, with_person
from helix_ingest.extraction.values import Draft, LoggedEvent
from helix_memory.events import MessageEvent
from helix_shared.identity import memory_id
from tests.unit.linear_time import Linear, repeated

MONDAY = datetime(2026, 9, 7, 9, 0, tzinfo=UTC)


def said(n: int, speaker: str, text: str, **fields: Any) -> LoggedEvent:
    """A turn of session s, one minute after the one before."""
    body = {"event_id": f"e{n}", "tenant_id": "t", "session_id": "s", "role": "user", "speaker": speaker}
    event = MessageEvent.model_validate(body | {"text": text} | fields)
    return LoggedEvent(event, n, MONDAY + timedelta(minutes=n))


def drafts(*turns: LoggedEvent) -> list[Draft]:
    """Drafts of the last turn; a token is a word."""
    before = turns[:-1][-CONTEXT_TURNS:]
    return drafts_of(turns[-1], before, most_tokens=80, count_tokens=lambda text: len(text.split()))


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        (["Dr Okafor looked at the knee."], "she wants a scan", "Dr Okafor wants a scan"),
        (["my brother piotr broke his arm"], "I drove him to casualty", "I drove piotr to casualty"),
        (["My boss is Ngozi."], "her office is upstairs", "Ngozi's office is upstairs"),
        (["Mrs Lund fixed the fence"], "I gave her the eggs", "I gave Mrs Lund the eggs"),
        (["Mrs Lund fixed the fence"], "I paid her yesterday", "I paid Mrs Lund yesterday"),
        (["my mother is in Gdynia", "ok"], "she turned 70", "my mother turned 70"),
        (["Mr Bell called", "Anna is my sister"], "he wants the rent", "Mr Bell wants the rent"),
        (["Anna said hello", "the boiler is off"], "she is back in May", "Anna is back in May"),
        (["Dr Okafor called", "okafor told me to rest"], "he is strict", "Dr Okafor is strict"),
        (["mum had a fall"], "the mri is on friday, she was calm", "the mri is on friday, mum was calm"),
    ],
)
def test_the_only_person_that_fits_takes_the_place_of_the_pronoun(
    before: list[str], text: str, expected: str
) -> None:
    """By title, by a noun for a person, by name; a person whose gender is told fits no other pronoun."""
    assert with_person(Turn("Ida", text), [Turn("Ida", one) for one in before]) == expected


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ([], "she wants a scan"),
        (["the boiler is off"], "he is on his way"),
        (["Anna met Greta"], "she was late"),
        (["Mr Bell called"], "she wants the rent"),
        (["wojtek and the nurse talked"], "he was calm"),
        (["Dr Okafor called"], "Greta rang too, she is fine"),
        (["Dr Okafor called"], 'the sign says "he who digs"'),
        (["we flew to Madeira"], "she was hot"),
        (["a woman sold me the bench"], "she was in a hurry"),
        (["Thanks, Anna!"], "he is here"),
        (["We need a Bosch"], "his name is Rex"),
        (["Anna has a new dog"], "he barks at night"),
        (["mum's visa came"], "ada wants out of gym, she'd rather do drama"),
        (["mum had a fall, shes home again", "Dr Patel did the cast"], "her meds are in the kitchen"),
    ],
)
def test_nobody_is_named_where_it_is_not_sure(before: list[str], text: str) -> None:
    """No person, two of them, another gender, one in the turn itself, a place, somebody in general."""
    assert with_person(Turn("Ida", text), [Turn("Ida", one) for one in before]) == ""


def test_what_is_mine_is_yours_for_the_other_speaker() -> None:
    """A noun keeps its owner when another speaker says the pronoun."""
    assert with_person(Turn("assistant", "How is she?"), [Turn("Ida", "my aunt fell")]) == "How is your aunt?"
    assert with_person(Turn("Ida", "she left"), [Turn("assistant", "And your aunt?")]) == "my aunt left"


def test_a_speaker_is_not_the_person_they_speak_of() -> None:
    """Ida says "she" of somebody else."""
    assert with_person(Turn("Ida", "she left"), [Turn("Bo", "Ida said hello")]) == ""


def test_the_statement_stands_beside_the_turn() -> None:
    """Own piece number, the id of the verbatim memory, and its words unchanged."""
    verbatim, derived = (
        one for one in drafts(said(1, "Ida", "Dr Okafor called."), said(2, "Ida", "she wants a scan"))
        if one.logged.sequence == 2
    )  # fmt: skip
    assert verbatim.text == derived.spoken == "she wants a scan"
    assert derived.text == "Dr Okafor wants a scan"
    assert derived.derived_from == memory_id("t", "e2", 0)
    assert (verbatim.piece, derived.piece, derived.context) == (0, 1, "")


def test_an_answer_has_its_question_with_the_name() -> None:
    """The pronoun of the question and that of the answer are read with the turns before each."""
    found = drafts(
        said(1, "Ida", "my mother is ill"),
        said(2, "", "Oh no. How old is she?", role="assistant"),
        said(3, "Ida", "61, and she walks with a stick"),
    )
    assert [one.text for one in found if one.logged.sequence == 3 and one.derived_from] == [
        "my mother is ill. How old is your mother? 61, and my mother walks with a stick"
    ]


@pytest.mark.parametrize("text", ["is he there?", " ".join(["he", *["rests"] * 70])])
def test_questions_and_long_turns_have_no_statement(text: str) -> None:
    """A question states nothing, and in a long turn the pronoun is a small part."""
    turns = said(1, "Ida", "Dr Okafor called."), said(2, "Ida", text)
    assert [one.derived_from for one in drafts(*turns) if one.logged.sequence == 2 and one.derived_from] == []


def test_a_name_that_not_everybody_may_see_is_not_taken() -> None:
    """A private turn gives no name to a turn that all may recall."""
    private = said(1, "Ida", "Dr Okafor called.", user_id="ida")
    assert [one.text for one in drafts(private, said(2, "Ida", "she wants a scan", user_id="ida"))][-1] != ""
    shown = drafts(private, said(2, "Ida", "she wants a scan", shared=True))
    assert "Okafor" not in " ".join(f"{one.text} {one.context} {one.window}" for one in shown if one.piece)


def test_the_later_revision_says_the_same() -> None:
    """The next turn completes the statement; the persons are those of the turns before it."""
    turns = [said(n, "Ida", "the oven is cold") for n in range(2, 2 + SESSION_TURNS - 1)]
    last = 2 + len(turns)
    session = [said(1, "Ida", "Dr Okafor called."), *turns, said(last, "Ida", "she wants a scan")]
    first = [one.text for one in drafts(*session) if one.derived_from]
    later = [one.text for one in drafts(*session, said(last + 1, "Ida", "ok")) if one.derived_from]
    assert first == later == ["Dr Okafor wants a scan"]


@given(st.text(max_size=200), st.lists(st.text(max_size=100), max_size=4))
def test_any_text_is_read(text: str, before: list[str]) -> None:
    """No text breaks the rules, and spans are inside the text."""
    with_person(Turn("a", text), [Turn("b", one) for one in before])
    assert all(0 <= one.start < one.end <= len(text) for one in mentions(text))


@pytest.mark.parametrize(
    "part", ["he ", "Ab ", "my ", "the boss is ", "\u201c", "x" * 50 + " ", "Mr A, ", "aaab's "]
)
def test_long_hostile_turns_take_linear_time(part: str, linear_beginnings: Linear) -> None:
    """A hundred thousand characters, and as many in each turn before."""
    assert not linear_beginnings.failures(
        lambda text: with_person(Turn("a", f"he {text}"), [Turn("b", text)] * SESSION_TURNS),
        texts=repeated(part),
    )
