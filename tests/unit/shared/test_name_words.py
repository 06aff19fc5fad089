"""Names by words: at the start of a sentence, in lower case after an introduction, and common words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_shared.naming import find_names
from helix_shared.naming.frequency import common_words, is_common
from helix_shared.naming.persons import PERSON_NOUNS, find_introduced
from helix_shared.naming.words import FUNCTION_WORDS
from tests.unit.linear_time import Linear, repeated


def names(text: str) -> list[str]:
    """Names of persons, places, brands that are found."""
    return [name.name for name in find_names(text) if name.kind == "name"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ludmila glued the chair.", ["ludmila"]),
        ("Dust settles slowly. Vodafone cut the line.", ["vodafone"]),
        ("Grafana crashed twice.", ["grafana"]),
        ("Rose said no.", ["rose"]),
        ("Ghent is flat, Accra is not.", ["ghent", "accra"]),
        ("Breakfast was cold.", []),
        ("Invoices are due.", []),
        ("Repainting it took a day.", []),
        ("Gardeners prune in winter.", []),
        ("Yesterday was long. Tickets sold out.", []),
    ],
)
def test_one_word_at_the_start_of_a_sentence_is_a_name_unless_it_is_common(
    text: str, expected: list[str]
) -> None:
    """A common word is one only before a verb that persons do."""
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my brother ludek broke the van", ["ludek"]),
        ("our new neighbour tae-min waters them", ["tae-min"]),
        ("her boss is ngozi, very strict", ["ngozi"]),
        ("a script called nightsweep does it", ["nightsweep"]),
        ("a pup named Biscuit and a cat named mocha-lou", ["biscuit", "mocha-lou"]),
        ("mrs okonkwo signed", ["mrs okonkwo"]),
        ("we asked dr. szabo's office", ["dr. szabo"]),
        ("the landlord is mr okafor", ["mr okafor"]),
        ("his teacher ms van der berg left", ["ms van der berg"]),
        ("my sister works nights", []),
        ("my boss is away and the doctor was late", []),
        ("i called yesterday, they named a price", []),
        ("he is a doctor", []),
    ],
)
def test_a_name_in_lower_case_is_introduced(text: str, expected: list[str]) -> None:
    """By a noun for a person, by "called" or "named", by a title; a common word is no name there."""
    assert names(text) == expected


@pytest.mark.parametrize(
    "word", ["dinner", "prices", "rehearsals", "baking", "cancelled", "re-use", "nurse's"]
)
def test_inflected_words_are_common(word: str) -> None:
    """Endings, doubled consonants, hyphens and possessives."""
    assert is_common(word)


def test_the_list_holds_words_and_not_names() -> None:
    """Plain lower-case words, each once."""
    words = common_words()
    assert 10_000 < len(words) < 20_000
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
    assert not words & {"john", "maria", "london", "toyota", "berlin", "anna"}
    assert [
        word for word in ("sister", "doctor", "boss") if not is_common(word) and word not in PERSON_NOUNS
    ] == []
    assert len([word for word in FUNCTION_WORDS if is_common(word)]) > len(FUNCTION_WORDS) / 2


@given(st.text(max_size=200))
def test_any_text_has_spans_inside_it(text: str) -> None:
    """Introductions never reach outside the text, and any word is common or not."""
    assert all(0 <= start < end <= len(text) for start, end in find_introduced(text))
    assert is_common(text) in (True, False)


@pytest.mark.parametrize(
    "part", ["my ", "the boss ", "called ", "a b", "mr ", "s", "-", "my brother is called "]
)
def test_long_hostile_texts_take_linear_time(part: str, linear_functions: Linear) -> None:
    """A hundred thousand characters, however they are made."""

    def read(text: str) -> None:
        list(find_introduced(text))
        is_common(text[:200])

    assert not linear_functions.failures(read, texts=repeated(part))
