"""Which sentences say what their author has to do: the words of tasks have other senses."""

from __future__ import annotations

import pytest

from helix_ingest.facets.find import facets_of
from helix_ingest.facets.tasks import states_task
from tests.unit.linear_time import Linear, Shape, repeated

NO_TASK = {
    "open": (
        "the pool is open again",
        "Rosa's new cafe is open",
        "both swimming lanes are open on tuesdays",
        "registration for the 10k is open",
        "the ticket office is open",
        "for questions about the course the office is open",
        "the question of whether the pool is open is settled",
        "we are open to offers on the flat",
        "no tickets are open",
    ),
    "outstanding, overdue, unfinished": (
        "the food at Marta's is outstanding",
        "her exam results are outstanding",
        "that bus is overdue again",
        "the plane from oslo is overdue",
        "nothing is overdue",
        "the symphony is unfinished",
    ),
    "due": (
        "my sister is due in May",
        "Anna is due in March",
        "the train is due in ten minutes",
        "a storm is due on sunday",
        "the plumber is due this afternoon",
        "dad is due in surgery at ten",
        "the delay was due in part to the rain",
    ),
    "left, to do": (
        "nothing is left to do",
        "I built a todo app in Svelte",
        "i switched from one todo list to another",
        "it has nothing todo with the router",
        "the list is in deploy/todo.md",
        "what a to-do at the school gate",
    ),
    "remind, remember, owe, deadline": (
        "these photos remind me of home",
        "moments like these remind me why i moved here",
        "i always remember to lock up",
        "i owe you one",
        "i owe it all to my coach",
        "there's no deadline for it",
        "we met the deadline",
        "the deadline passed",
    ),
    "have to, must, should, got to": (
        "i have to admit the soup was good",
        "I must say the view is lovely",
        "i must have left my keys at the office",
        "i should've brought a coat",
        "last monday i got to feed a giraffe",
        "we got to Rome at nine",
    ),
}
TASKS = (
    "the ticket about the login is still open",
    "two questions from Ben are still open",
    "issue #42 is open",
    "PR 118 is open",
    "billing-42 is still open",
    "the invoice from the plumber is outstanding",
    "the boiler check is still outstanding",
    "the invoice from the plumber is overdue",
    "library books are overdue",
    "the report is unfinished",
    "only the ceiling is left to do",
    "the tax return is due on 31 January",
    "rent is due on the first",
    "the essay's due next week",
    "his homework is due tomorrow",
    "please remind me that the card is due in May",
    "dont let me forget the cake",
    "i owe Petra 20 euros",
    "I owe you an apology",
    "ive still got to sign the form",
    "I should have the car checked",
    "I have to say goodbye to grandma",
    "I have to tell Marta about the leak",
    "the milk is on the to-do list",
    "todo: paint the fence",
    "the deadline for the grant is 3 may",
)


def _facets(text: str) -> set[str]:
    return {one.facet for one in facets_of(text, source_class="user")}


@pytest.mark.parametrize("text", [text for texts in NO_TASK.values() for text in texts])
def test_a_word_of_a_task_in_another_sense_states_no_task(text: str) -> None:
    """What is said of a place, a person or a train is nothing to be done."""
    assert "task" not in _facets(text)


@pytest.mark.parametrize("text", TASKS)
def test_what_is_to_be_done_is_a_task(text: str) -> None:
    """Also where the same word has another sense of another thing."""
    assert "task" in _facets(text)


@pytest.mark.parametrize(
    ("text", "is_task"),
    [
        ("the pool is open again, and the invoice is still open", True),
        ("i must say we must go", True),
        ("the train is due in ten minutes and the essay is due on friday", True),
        ("the pool is open and the bus is overdue", False),
    ],
)
def test_every_clause_of_a_sentence_counts(text: str, is_task: bool) -> None:
    """A word in another sense takes no task from the clause beside it."""
    assert ("task" in _facets(text)) is is_task


@pytest.mark.parametrize(
    "piece", ["is open ", "due in ", "ticket ", "a-1 ", "i must have ", "maybe i ", "no ", "-1"]
)
def test_hostile_texts_take_linear_time(piece: str, linear_beginnings: Linear) -> None:
    """So much in front of a word is read, and no more."""
    texts = [*repeated(piece), Shape(f"open behind {piece!r}", " is open", piece)]
    assert not linear_beginnings.failures(states_task, texts=texts)
