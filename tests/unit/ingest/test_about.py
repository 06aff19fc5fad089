"""Whom a text is about: told only where it is sure."""

import time

import pytest

from helix_ingest.extraction.persons.about import about_whom
from helix_shared.about import OTHER, SELF, author, named, of_relative

KOFI = author("Kofi")


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("I'm 41 since March, feels old", SELF),
        ("our rent is 1150 now", SELF),
        ("my dentist is on the second floor", SELF),
        ("My wife Ama turned 38", named("Ama")),
        ("my brother lives with his boss, weird setup", of_relative("brother")),
        ("My wife's birthday is 4 June", of_relative("wife")),
        ("my mum's new number is 0470 99 88 77", of_relative("mother")),
        ("My friend Tom works at Lidl", named("Tom")),
        ("My sister moved to Porto. Weird.", of_relative("sister")),
        ("Ama's birthday is 12 June", named("Ama")),
        ("tom's 12 now", named("tom")),
        ("ludek broke his leg", named("ludek")),
        ("She lives in Ghent now", OTHER),
    ],
)
def test_a_statement_is_about_the_person_that_it_has_as_its_subject(text: str, about: str) -> None:
    """A relative with a name is known by the name."""
    assert about_whom(text, author("")) == about


@pytest.mark.parametrize(
    "text",
    [
        "My wife and I moved to Ghent",
        "I live in Ghent with my wife",
        "I'm 41 and my wife is 38",
        "My wife booked the dentist for me",
        "Ludek turned 38. I got him a book",
        "I think Ama lives in Utrecht",
        "My landlord raised Ama's rent",
        "my wife is Sunita, kids are Dev (9) and Anya (6)",
        "My wife Ama turned 38, our son 3",
        "Netflix is 12 euros a month",
        "Redis has 3 nodes",
        "Lidl is closed on Sunday",
        "The meeting is on Tuesday",
        "the report goes to Hugo, printed. He likes paper",
        "no, boat club in town after all. she likes it",
        "How old is my wife?",
        "41",
        "",
        "My wife is 38. " * 40,
    ],
)
def test_what_is_not_sure_is_about_nobody(text: str) -> None:
    """Several people, a firm, a thing, or a sentence that may be about anybody."""
    assert about_whom(text, author("")) == ""


def test_an_author_is_known_by_the_name_of_the_event() -> None:
    """Also where somebody speaks of themself by name."""
    assert about_whom("I'm 41 now", KOFI) == about_whom("Kofi lives in Ghent", KOFI) == "self kofi"
    assert about_whom("Ama lives in Ghent", KOFI) == "name ama"


def test_hostile_text_is_read_in_bounded_time() -> None:
    """A long text is about nobody; a short one has few words."""
    began = time.process_time()
    for text in (
        "my " * 20_000,
        "oh " * 133,
        "my wife " * 50,
        "she " * 100,
        "ama's " * 66,
        "-" * 400,
        "my new " * 57,
    ):
        about_whom(text, KOFI)
    assert time.process_time() - began < 1
