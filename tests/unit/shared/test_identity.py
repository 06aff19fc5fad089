"""Keys and codes that no choice of names can forge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_memory.limits import MEMORY_ID_PATTERN as PUBLIC_PATTERN
from helix_shared.endpoint.passages import plain
from helix_shared.identity import ESCAPE, MEMORY_ID_PATTERN, SEPARATOR, content_hash, joined, memory_id

names = st.text(alphabet=st.sampled_from([ESCAPE, SEPARATOR, "a", "*", "\\"]), max_size=5)
parts = st.lists(names, min_size=1, max_size=4)


@given(parts, parts)
def test_different_parts_never_give_the_same_value(one: list[str], other: list[str]) -> None:
    """Not even where a name holds the separator, or what escapes it."""
    assert (joined(*one) == joined(*other)) == (one == other)


@given(st.lists(st.text(alphabet="ab*é \n"), min_size=1))
def test_names_without_the_two_characters_are_joined_as_ever(plain: list[str]) -> None:
    """Stored keys of an earlier version stay what they are."""
    assert joined(*plain) == SEPARATOR.join(plain).encode()


def test_an_id_is_32_hexadecimal_digits_and_nothing_behind_them() -> None:
    """The public limit and the pattern inside are one."""
    made = memory_id("acme", "e1", 0)
    assert MEMORY_ID_PATTERN.pattern.replace(r"\Z", "$") == PUBLIC_PATTERN
    assert MEMORY_ID_PATTERN.match(made)
    for wrong in (made + "\n", made + "0", made[1:], made.upper() + "A", "g" * 32):
        assert MEMORY_ID_PATTERN.match(wrong) is None


@pytest.mark.parametrize(("one", "other"), [("1\u00bd cups", "11/2 cups"), ("10\u00b2 bar", "102 bar")])
def test_fractions_and_raised_digits_are_part_of_a_text(one: str, other: str) -> None:
    """NFKC makes them digits beside the number before them; a statement keeps them as well."""
    assert content_hash(one) != content_hash(other)
    assert plain(one) == one
    assert content_hash("\uff21\u00a01\u00bd") == content_hash("a 1\u00bd")
