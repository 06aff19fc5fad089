"""Which sentences are about somebody else and so in no profile of their author."""

from __future__ import annotations

import pytest

from helix_query.recall.user_profile.others import is_about_another
from tests.unit.linear_time import Linear, repeated


@pytest.mark.parametrize(
    "sentence",
    [
        "Dan's mother is vegan",
        "dan's little brother hates mint",
        "Dan is allergic to nuts",
        "He's allergic to penicillin",
        "Tom and Ida can't eat gluten",
        "Petra is celiac, remember that for the picnic",
        "And Elin works nights",
        "their son never eats eggs",
    ],
)
def test_a_sentence_whose_subject_is_another_person_is_not_about_its_author(sentence: str) -> None:
    """By name, by a name's relative, or by pronoun."""
    assert is_about_another(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "My sister is vegan",
        "Dan's mother is vegan, so I cook lentils",
        "Never call Dan before nine",
        "Nothing with nuts please",
        "Tests must never be skipped",
        "Release notes go to the wiki, always",
        "Shellfish gives me hives",
        "Grandpa lives in Leeds",
        "It's always the aisle seat",
        "",
    ],
)
def test_what_names_its_author_or_no_person_stays(sentence: str) -> None:
    """Rules, things, the author's family."""
    assert not is_about_another(sentence)


def test_a_long_sentence_is_read_in_linear_time(linear_beginnings: Linear) -> None:
    """Also one that is made for the patterns."""
    assert not linear_beginnings.failures(is_about_another, texts=repeated("Dan's ", "and ", "he's "))
