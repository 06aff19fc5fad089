"""Corrections right after a slip: the value is named, the slip is not."""

import time

import pytest

from helix_consolidation.relations.corrections import CORRECTS, MIN_CORRECTED_PROBABILITY
from helix_consolidation.relations.slips import slip_of
from helix_consolidation.relations.statement import Decision
from tests.unit.consolidation.relations.test_decide import decided, said


def after(older: str, newer: str, between: str = "", **values: object) -> Decision | None:
    """What is decided of a turn that follows another of the user, or the agent's reply to it."""
    context = f"user: {older}" + (f"\nassistant: {between}" if between else "")
    new = said(newer, **{"session": 2, "context": context} | values)
    return decided(new, said(older, session=2), cosine=0.3).get(0)


@pytest.mark.parametrize("between", ["", "Noted!"])
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The party is at Wolvenstraat 18", "No wait, it's Wolvenstraat 81"),
        ("Dentist is on Wednesday at 4", "sorry, I meant Tuesday"),
        ("dinner with Bo at 7", "make that 7:30"),
        ("Dinner with Bo at 7:30pm on Friday", "sorry, 8pm"),
        ("My locker code is Q4418", "oops it's Q4481"),
        ("the rent is 1,250 euros", "no, 1,350"),
        ("table for 6 at Luigi's", "Actually make it 8"),
        ("our train leaves on 12 September", "wait no, the 13th"),
        ("I weigh 82 kg", "*28"),
        ("my appointment is in room 4", "should be room 5"),
        ("we meet thursday", "friday, my bad"),
        ("My brother is 42", "no wait, he's 24"),
    ],
)
def test_a_value_with_a_word_of_correction_replaces_the_one_just_said(
    older: str, newer: str, between: str
) -> None:
    """It does not say what the value is of, so the older statement stays open."""
    found = after(older, newer, between)
    assert found is not None
    assert (found.relation, found.closes) == ("UPDATES", False)
    assert found.probability >= MIN_CORRECTED_PROBABILITY
    assert CORRECTS in found.evidence


def test_a_correction_that_names_again_what_it_is_about_closes() -> None:
    """As one that names the wrong value does."""
    found = after("The gate code is 4471", "No wait, the gate code is 4417")
    assert found is not None
    assert found.closes


@pytest.mark.parametrize(
    ("older", "newer", "between"),
    [
        ("Dinner is at 7", "Sorry, the meeting tomorrow is at 9", ""),
        ("I arrive in 20 minutes", "Sorry, I'll be 10 minutes late", ""),
        ("Dinner at 8", "Wait, it's 7:30 already", ""),
        ("The dentist is on Wednesday", "wait, it's Tuesday today", ""),
        ("My flight is at 7:30", "No wait, it's Tuesday", ""),
        ("I'm 41", "No, 42", "Is your brother 40?"),
        ("Dinner for 7 at 8", "make that 9", ""),
        ("We're there between 7 and 9", "make that 8", ""),
        ("Ran 3 km in 20 minutes", "sorry, 5", ""),
        ("Order a coffee for 9", "make it two", ""),
        ("We have 3 kids", "No, we have 2 cats", ""),
        ("My brother's train is at 7:30", "sorry, my sister's is at 8", ""),
        ("My flight is at 7:30", "Sorry, her flight is at 8", ""),
        ("Her flight is at 10", "Actually my flight is at 9", ""),
        ("My flight is at 10", "wait, she's at 9", ""),
        ("The gate code is 4471", "No wait, it's 4471", ""),
        ("Is the party on Tuesday?", "sorry, I meant Wednesday", ""),
        ("The party is at Wolvenstraat 18", "No wait, it's Wolvenstraat 81", "Number 7 is nearer."),
        ("Alarm at 7", "Oh, and 8:30", ""),
        ("Alarm at 7", "Actually 8:30 too", ""),
    ],
)
def test_what_is_not_sure_is_no_slip(older: str, newer: str, between: str) -> None:
    """Another thing, another person, an answer, an addition, or a value that may replace several."""
    found = after(older, newer, between)
    assert found is None or (CORRECTS not in found.evidence and not found.closes)


@pytest.mark.parametrize(
    "values",
    [{"context": "user: The kitchen is done"}, {"session": 3}, {"speaker": "Ann"}, {"role": "assistant"}],
)
def test_only_what_the_same_speaker_said_just_before_is_corrected(values: dict[str, object]) -> None:
    """Not an older turn, another session, or somebody else."""
    found = after("dinner with Bo at 7", "make that 7:30", **values)
    assert found is None or CORRECTS not in found.evidence


def test_of_two_turns_before_the_later_one_with_such_a_value_is_meant() -> None:
    """The gym is moved, the dinner is not."""
    context = "user: Dinner on Friday at 7\nuser: Gym at 6"
    new = said("sorry, I meant 6:30", session=2, context=context)
    found = decided(new, said("Dinner on Friday at 7", session=2), said("Gym at 6", session=2), cosine=0.3)
    assert CORRECTS in found[1].evidence
    assert 0 not in found or CORRECTS not in found[0].evidence


def test_the_statement_with_its_question_is_corrected_too() -> None:
    """The last line of the speaker is the answer of a derived statement."""
    older = said("When is the dentist? Tuesday at 4", session=2, is_derived=True)
    new = said("sorry, Wednesday", session=2, context="assistant: When is the dentist?\nuser: Tuesday at 4")
    assert decided(new, older, cosine=0.3)[0].relation == "UPDATES"


def test_hostile_text_is_read_in_bounded_time() -> None:
    """Long turns are no slips; a long older statement is read to its first characters."""
    texts = ("sorry " * 20_000, "no " * 30, "make that " * 12, "*" * 120, "my bad " * 17)
    pairs = [
        (said(text, session=2, context=f"user: {older}"), said(older, session=2))
        for text in texts
        for older in ("at 7 " * 20_000, "user: " * 20_000, "7:30 " * 200)
    ]
    began = time.process_time()
    for new, old in pairs:
        slip_of(new, old)
    assert time.process_time() - began < 1
