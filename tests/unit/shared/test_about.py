"""The stored form of whom a statement is about, and when two of them surely mean two people."""

import numpy as np
import pytest

from helix_shared.about import (
    AUTHOR,
    BY_NAME,
    OF_AUTHOR,
    OTHER,
    SELF,
    about_code,
    are_two,
    author,
    kinds_of,
    named,
    of_relative,
    person_code,
    persons_of,
)


def test_a_number_tells_the_kind_and_the_person() -> None:
    """The word that is not sure, or not known, is 0."""
    words = [SELF, author("Ama Mensah"), named("Ama"), of_relative("wife"), OTHER, "", "someone ama"]
    codes = np.array([about_code(word) for word in words], np.int64)
    assert kinds_of(codes).tolist() == [AUTHOR, AUTHOR, BY_NAME, OF_AUTHOR, OF_AUTHOR, 0, 0]
    ama, wife = person_code("ama"), person_code("wife")
    assert persons_of(codes).tolist() == [0, ama, ama, wife, 0, 0, 0]
    assert len({0, ama, wife}) == 3


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (SELF, named("Ama"), True),
        (SELF, of_relative("wife"), True),
        (SELF, OTHER, True),
        (named("Ama"), named("Ben"), True),
        (of_relative("sister"), of_relative("brother"), True),
        (author("Kofi"), named("Ama"), True),
        (author("Ama"), named("Ama"), False),
        (author("Ama"), of_relative("wife"), False),
        (author("Ama"), author("Kofi"), False),
        (named("Ama"), of_relative("wife"), False),
        (OTHER, of_relative("wife"), False),
        (SELF, "", False),
        (named("Ama"), named("ama"), False),
    ],
)
def test_two_people_are_told_only_where_it_is_sure(one: str, other: str, expected: bool) -> None:
    """In either order."""
    assert are_two(one, other) is are_two(other, one) is expected
