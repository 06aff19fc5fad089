"""Turns of a framework, written one after the other."""

import pytest

from helix_memory.adapters.conditions import admits
from helix_memory.adapters.turns import each_written
from helix_memory.client import InvalidInputError, Written


async def test_a_turn_that_is_refused_keeps_no_later_one_from_being_written() -> None:
    """Its framework does not send the others again, or stops at the same one each time."""
    kept: list[str] = []

    async def write(text: str) -> Written:
        if text.startswith("long"):
            raise InvalidInputError("text", text)
        return Written(text, "", 1, duplicate=False)

    texts = ("one", "long 1", "two", "long 2", "three")
    with pytest.raises(InvalidInputError, match="long 1"):
        await each_written(map(write, texts), lambda written: kept.append(written.event_id))
    assert kept == ["one", "two", "three"]


def test_a_number_beyond_floats_is_neither_greater_nor_less() -> None:
    """A condition on it does not end the search."""
    assert not admits({"size": {"$gt": 1}}, {"size": 10**400})
