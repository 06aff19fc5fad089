"""Which candidates are surely about somebody else than the person that a question asks about."""

import numpy as np
import pytest

from helix_query.recall.candidates import AskedPerson
from helix_query.recall.lifecycle.persons import about_others
from helix_query.recall.routing.asked_person import asked_person
from helix_shared.about import (
    AUTHOR,
    BY_NAME,
    OF_AUTHOR,
    OTHER,
    SELF,
    about_code,
    author,
    named,
    of_relative,
    person_code,
)

WORDS = [SELF, author("Ama"), named("Ama"), named("Ben"), of_relative("wife"), of_relative("son"), OTHER, ""]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how old am I?", [named("Ama"), named("Ben"), of_relative("wife"), of_relative("son"), OTHER]),
        ("how old is my wife?", [SELF, of_relative("son")]),
        ("where does Ama live?", [named("Ben")]),
        ("where does Ben live?", [author("Ama"), named("Ama")]),
        ("when is the dentist?", []),
        ("does my wife know Ben?", []),
    ],
)
def test_only_what_is_surely_about_somebody_else_is_told(query: str, expected: list[str]) -> None:
    """What is not known never is; a relative may be known by name, an author without one may be anybody."""
    codes = np.array([about_code(word) for word in WORDS], np.int64)
    found = about_others(codes, asked_person(query)).tolist()
    assert [word for word, other in zip(WORDS, found, strict=True) if other] == expected


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("where do I live?", AskedPerson(AUTHOR)),
        ("what is my rent?", AskedPerson(AUTHOR)),
        ("what's our wifi password", AskedPerson(AUTHOR)),
        ("how old is my wife?", AskedPerson(OF_AUTHOR, person_code("wife"))),
        ("what is my mum's number?", AskedPerson(OF_AUTHOR, person_code("mother"))),
        ("where does ludek work?", AskedPerson(BY_NAME, person_code("ludek"))),
        ("When is Ama's birthday?", AskedPerson(BY_NAME, person_code("ama"))),
        ("where do I meet Ama?", None),
        ("does she know my address?", None),
        ("who is my dentist?", None),
        ("what's my sibling's name?", None),
        ("what is my dentist's number?", None),
        ("what did Ama say to Ben?", None),
        ("when does the shop open?", None),
    ],
)
def test_a_question_asks_about_one_person_or_none(query: str, asked: AskedPerson | None) -> None:
    """Where several persons, or a role, are in it, whose value is asked for is not sure."""
    assert asked_person(query) == asked
