"""Answers: which question a turn answers, and the statement that stands beside it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from helix_ingest.extraction.drafts import drafts_of
from helix_ingest.extraction.values import Draft, LoggedEvent
from helix_ingest.rows import rows_of
from helix_memory.events import MessageEvent
from helix_shared.identity import memory_id

MONDAY = datetime(2026, 9, 7, 9, 0, tzinfo=UTC)


def turn(n: int, speaker: str, text: str, **fields: Any) -> LoggedEvent:
    """A turn of session s; "assistant" is a role, other names are people."""
    is_assistant = speaker == "assistant"
    body = {
        "event_id": f"e{n}",
        "tenant_id": "t",
        "session_id": "s",
        "role": "assistant" if is_assistant else "user",
        "speaker": "" if is_assistant else speaker,
        "text": text,
    }
    return LoggedEvent(MessageEvent.model_validate(body | fields), n, MONDAY + timedelta(minutes=n))


def drafts(logged: LoggedEvent, *before: LoggedEvent, most_tokens: int = 60) -> list[Draft]:
    """Drafts of a turn; a token is a word."""
    return drafts_of(logged, before, most_tokens=most_tokens, count_tokens=lambda text: len(text.split()))


def statement(*said: tuple[str, str]) -> str:
    """Text of the derived statement of the last of some turns; empty: it has none."""
    turns = [turn(n, speaker, text) for n, (speaker, text) in enumerate(said, 1)]
    found = [one for one in drafts(turns[-1], *turns[:-1]) if one.logged is turns[-1] and one.derived_from]
    return found[0].text if found else ""


@pytest.mark.parametrize(
    ("question", "taken", "answer"),
    [
        ("That sounds great. When are you going?", "When are you going?", "Next April, I hope"),
        ("Shall I move the appointment to Friday?", "Shall I move the appointment to Friday?", "Sure"),
        ("Shall I move the appointment to Friday?", "Shall I move the appointment to Friday?", "ok"),
        ("How many chairs do you need?", "How many chairs do you need?", "40"),
        ("who waters the beans? it is so dry", "who waters the beans?", "Olga, she has the hose"),
        ("what's the visiting time", "what's the visiting time.", "two to four"),
        (
            "Is the ladder still in the shed?",
            "Is the ladder still in the shed?",
            "No, I lent it to my brother in law because his gutter is leaking",
        ),
        ("Oak or walnut for it? And which oil?", "Oak or walnut for it? And which oil?", "walnut, linseed"),
        ("The oven can go left. OK?", "The oven can go left. OK?", "yes"),
    ],
)
def test_an_answer_stands_beside_its_question(question: str, taken: str, answer: str) -> None:
    """Short and long answers, yes and no, a bare number, a question that is not the last sentence."""
    assert statement(("assistant", question), ("Mira", answer)) == f"{taken} {answer}"
    assert statement(("Ines", question), ("Mira", answer)) == f"{taken} {answer}"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When are you going?", "Thanks!"),
        ("When are you going?", "ok"),
        ("When are you going?", "And you?"),
        ("When are you going?", "Never mind."),
        ("When are you going?", "btw the cat is back"),
        ("When are you going?", "different topic: the roof leaks"),
        ("We go in April.", "Next year then"),
        ("When are you going?", "well " * 60),
    ],
)
def test_thanks_counter_questions_other_subjects_and_long_turns_have_no_statement(
    question: str, answer: str
) -> None:
    """They answer nothing, or can be read alone."""
    assert statement(("assistant", question), ("Mira", answer)) == ""
    assert statement(("Mira", "When are you going?"), ("Mira", "Next April")) == ""


def test_an_elliptic_question_brings_what_its_answerer_had_said() -> None:
    """Alone it means nothing; the vector is of question and answer."""
    said = (
        ("Bo", "They lent us a cabin by the lake."),
        ("assistant", "For how long?"),
        ("Bo", "two weeks"),
    )
    assert statement(*said) == "They lent us a cabin by the lake. For how long? two weeks"
    turns = [turn(n, speaker, text) for n, (speaker, text) in enumerate(said, 1)]
    assert drafts(turns[2], *turns[:2])[1].passage == "Bo: For how long? two weeks"
    other = (("Eva", "They lent us a cabin."), *said[1:])
    assert statement(*other) == "For how long? two weeks"


@pytest.mark.parametrize(
    ("question", "is_whole"),
    [
        ("who owns CartStore?", True),
        ("when is Ana's?", True),
        ("Where is retry_budget?", True),
        ("What about Lisbon?", False),
        ("who in Lisbon?", False),
        ("what colour then?", False),
        ("and Marta?", False),
        ("What time, Marek?", False),
        ("who did THAT?", False),
        ("how are You?", False),
        ("When should I?", False),
    ],
)
def test_a_short_question_about_a_name_is_understood_alone(question: str, *, is_whole: bool) -> None:
    """It takes nothing of what was said before it."""
    said = "I changed the discount.", question, "That is with Jo since May."
    stated = statement(("assistant", said[0]), ("user", said[1]), ("assistant", said[2]))
    before = "" if is_whole else f"{said[0]} "
    assert stated == f"{before}{question} {said[2]}"


@pytest.mark.parametrize(
    ("question", "is_whole"),
    [
        ("Is it OK if I delete the branch?", True),
        ("Is there a deadline for the report?", True),
        ("Do you think that we should wait?", True),
        ("Is it safe for kids?", False),
        ("Is there one of those left?", False),
        ("Do you know that?", False),
    ],
)
def test_a_word_that_points_at_nothing_brings_nothing_said_before(question: str, *, is_whole: bool) -> None:
    """The "it" of "is it OK if" is not what was said; the "it" of "is it safe" is."""
    stated = statement(("Bo", "I sold the bike."), ("assistant", question), ("Bo", "yes, on Friday"))
    assert stated == f"{'' if is_whole else 'I sold the bike. '}{question} yes, on Friday"


def test_the_verbatim_turn_keeps_its_text_and_the_statement_its_own_id() -> None:
    """Links go both ways: the answer names the question, the question's later revision the answer."""
    asked, answered = turn(1, "assistant", "What is the door code?"), turn(2, "Mira", "9038 hash")
    own, derived, revised = drafts(answered, asked)
    question, answer = memory_id("t", "e1", 0), memory_id("t", "e2", 0)
    assert (own.text, own.answers, own.derived_from) == ("9038 hash", question, "")
    assert (derived.piece, derived.answers, derived.derived_from) == (1, question, answer)
    assert (revised.text, revised.answered_by) == ("What is the door code?", answer)
    later = drafts(turn(3, "assistant", "Noted."), asked, answered)
    again = [one for one in later if one.logged is answered]
    assert [one.text for one in again] == ["9038 hash", "What is the door code? 9038 hash"]
    assert [one.revision_sequence for one in again] == [3, 3]


def test_a_statement_has_the_scores_of_its_source_and_the_class_of_the_answer() -> None:
    """The quoted question adds neither salience nor trust."""
    asked = turn(1, "assistant", "Was the important release tested and confirmed on 12 machines?")
    found = drafts(turn(2, "Mira", "yes"), asked)[:2]
    rows = rows_of(found, np.zeros((2, 4), np.float32), [1, 1], model="m")
    assert rows[0]["text"] == "yes"
    for name in ("salience", "confidence", "source_class", "speech_act"):
        assert rows[0][name] == rows[1][name], name
    assert rows[1]["source_class"] == "user"
    assert rows[1]["derived_from"] == rows[0]["memory_id"] != rows[1]["memory_id"]


def test_a_question_in_an_earlier_piece_is_linked_at_that_piece() -> None:
    """The revision of that piece comes with the last one."""
    asked = turn(
        1, "Ines", "Who takes the night shift on Sunday then?\n\nI cannot.\n\n" + "It is a pity. " * 3
    )
    found = [one for one in drafts(turn(2, "Mira", "I do"), asked, most_tokens=12) if one.logged is asked]
    answer = memory_id("t", "e2", 0)
    assert [one.answered_by for one in found if one.piece == 0] == [answer]
    assert not any(one.answered_by for one in found if one.piece)


def test_a_statement_longer_than_a_piece_is_left_out() -> None:
    """The verbatim turn and its context remain."""
    asked = turn(1, "assistant", "Which of the many plants in the garden do you want to keep this year?")
    assert len([one for one in drafts(turn(2, "Mira", "the fig tree"), asked, most_tokens=12)
                if one.derived_from]) == 0  # fmt: skip


def test_a_private_question_is_neither_quoted_nor_linked_by_a_public_answer() -> None:
    """And the question before it is not taken for it."""
    public = turn(1, "Cara", "Who drives on Saturday?")
    private = turn(2, "Ann", "How high is my fever?", user_id="ann", acl=["hr"])
    found = drafts(turn(3, "Bob", "38.5 at noon"), public, private)
    assert [one.text for one in found if not one.answered_by and one.logged.sequence == 3] == ["38.5 at noon"]
    assert not any(one.answers or one.answered_by for one in found)


def test_a_tools_output_between_question_and_answer_is_passed_over() -> None:
    """The user's question, a command, the assistant's reply."""
    asked = turn(1, "Mira", "how large is the log")
    output = turn(2, "", "412M app.log", role="tool")
    found = drafts(turn(3, "assistant", "412 megabytes."), asked, output)
    assert found[0].answers == memory_id("t", "e1", 0)
    assert found[1].text == "how large is the log. 412 megabytes."


PAY = "1. Pay now\n2. Pay in instalments\n3. Cancel"
PLANS = "A) the small plan\nB) the family plan\nC) none"


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        (f"{PAY}\nWhich option do you prefer?", "2", "Which option do you prefer? 2 (Pay in instalments)"),
        (
            f"Which option do you prefer?\n{PAY}",
            "option 2 please",
            "Which option do you prefer? option 2 please (Pay in instalments)",
        ),
        (f"Here they are:\n{PLANS}\nWhich one?", "B", "Which one? B (the family plan)"),
        (f"Here they are:\n{PLANS}\nWhich one?", "the last one", "Which one? the last one (none)"),
        (
            "Do you want a) tea, b) coffee or c) water?",
            "c",
            "Do you want a) tea, b) coffee or c) water? c (water)",
        ),
        ("- oak\n- walnut\nWhich wood?", "the second one", "Which wood? the second one (walnut)"),
        ("Which day suits you? 1) Monday 2) Friday", "2", "Which day suits you? 2 (Friday)"),
        ("How many chairs do you need?", "2", "How many chairs do you need? 2"),
    ],
)
def test_a_pick_from_a_list_has_the_item_picked(asked: str, answer: str, expected: str) -> None:
    """A number or letter alone says nothing without the list, before or behind the question."""
    assert statement(("assistant", asked), ("Mira", answer)).startswith(expected)


NAME = "What is the name of your new landlord?"


@pytest.mark.parametrize(
    "between",
    [
        [("Mira", "one sec")],
        [("Mira", "hold on, doorbell")],
        [("Mira", "let me check"), ("assistant", "Sure, take your time.")],
        [("Mira", "wait"), ("assistant", "No problem!"), ("Mira", "ok")],
        [("Mira", "hmm good question")],
        [("Mira", "hang on, I'll look it up"), ("assistant", "I can wait.")],
        [("Mira", "brb")],
    ],
)
def test_turns_that_say_nothing_are_passed_over(between: list[tuple[str, str]]) -> None:
    """What puts the answer off, and what is polite about it, is no answer."""
    assert statement(("assistant", NAME), *between, ("Mira", "Gerrit Maes")) == f"{NAME} Gerrit Maes"
    for n in range(1, len(between) + 1):
        assert statement(("assistant", NAME), *between[:n]) == ""


@pytest.mark.parametrize(
    ("asked", "between"),
    [
        (NAME, [("Mira", "I forgot it")]),
        (NAME, [("Mira", "Gerrit")]),
        (NAME, [("Mira", "one sec"), ("assistant", "The contract is in the drawer.")]),
        (NAME, [("Mira", "one sec"), ("assistant", "When did you move in?"), ("Mira", "in May")]),
        ("Shall I book it?", [("Mira", "yes please")]),
        (NAME, [("Mira", "ok"), *[("Mira", "one sec")] * 5]),
    ],
)
def test_what_says_something_in_between_ends_the_wait(asked: str, between: list[tuple[str, str]]) -> None:
    """An answer, another statement, another question; and more turns than are read."""
    assert statement(("assistant", asked), *between, ("Mira", "Gerrit Maes")) == ""


@pytest.mark.parametrize(
    "answer",
    ["hold on, I think it is 640", "wait until Friday", "let me see, Gerrit Maes", "one minute past six"],
)
def test_an_answer_behind_words_that_put_off_is_one(answer: str) -> None:
    """It tells a value or a name."""
    assert statement(("assistant", NAME), ("Mira", answer)) == f"{NAME} {answer}"


def test_a_question_answered_later_is_linked() -> None:
    """The revision that comes with the answer says what answers it; its context stays whole."""
    said = [("Mira", "hello"), ("assistant", "Hi."), ("assistant", NAME), ("Mira", "one sec")]
    turns = [turn(n, speaker, text) for n, (speaker, text) in enumerate([*said, ("Mira", "Gerrit Maes")], 1)]
    question = next(one for one in drafts(turns[-1], *turns[:-1]) if one.logged is turns[2])
    assert question.answered_by == memory_id("t", "e5", 0)
    assert question.revision_sequence == 5
    assert "one sec" in question.context
    assert "hello" in question.context


def test_what_is_said_on_another_day_answers_nothing() -> None:
    """In one long session too; the same words a minute later are an answer."""
    asked = turn(1, "Jonas", "Maybe we could launch in January if the review fails again?")
    told = turn(2, "Mira", "Tests for the importer are not confirmed yet.")
    later = turn(3, "Mira", told.event.text, occurred_at=MONDAY + timedelta(days=1))  # type: ignore[union-attr]
    assert [one.derived_from for one in drafts(later, asked) if one.logged is later] == [""]
    assert len([one for one in drafts(told, asked) if one.logged is told]) == 2
