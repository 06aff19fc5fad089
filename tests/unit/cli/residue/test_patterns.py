"""The search for many byte sequences in one pass."""

import os
import random
import re
import time

import pytest

from helix_cli.residue.patterns import Patterns
from helix_cli.residue.stored import rows_left


@pytest.mark.parametrize("shortest", [1, 2, 4, 8])
@pytest.mark.parametrize("letters", [b"ab", b"\x00\xffabc"])
def test_counts_are_those_of_one_alternation(shortest: int, letters: bytes) -> None:
    """Also where sequences begin with, contain and overlap each other."""
    dice = random.Random(shortest)

    def some(length: int) -> bytes:
        return bytes(dice.choices(letters, k=length))

    for _ in range(200):
        wanted = [some(dice.randint(shortest, 12)) for _ in range(dice.randint(0, 12))]
        content = some(dice.randint(0, 400))
        longest_first = sorted(map(re.escape, wanted), key=len, reverse=True)
        alternation = re.compile(b"|".join(longest_first) or b"(?!)", re.DOTALL)
        patterns = Patterns(wanted)
        assert patterns.count(content) == len(alternation.findall(content))
        assert patterns.occurring(content) == {one for one in wanted if one in content}


def test_what_stands_across_two_blocks_of_the_search_is_found() -> None:
    """The search goes through a large file in blocks."""
    content = bytearray(3 * (1 << 20))
    places = [(1 << 20) - 3, (2 << 20) - 9, len(content) - 11]
    for place in places:
        content[place : place + 11] = b"plughplover"
    assert Patterns([b"plughplover", os.urandom(16)]).count(bytes(content)) == len(places)


def test_a_thousand_times_as_many_sequences_do_not_take_ten_times_as_long() -> None:
    """An alternation of them takes a thousand times as long."""
    content = os.urandom(1 << 21)

    def seconds(patterns: Patterns) -> float:
        began = time.process_time()
        patterns.count(content)
        return time.process_time() - began

    few, many = (Patterns([os.urandom(24) for _ in range(count)]) for count in (20, 20_000))
    assert min(seconds(many) for _ in range(5)) < 10 * min(seconds(few) for _ in range(5))


def test_an_erased_text_that_others_say_too_is_not_searched_for() -> None:
    """Alone or inside a longer one, and whatever the case; a short one is not, either."""
    gone = [
        {"memory_id": str(number), "text": text}
        for number, text in enumerate(["The safe opens.", "The door opens now.", "Short.", "The gate opens."])
    ]
    kept = [{"memory_id": "9", "text": "I know: the SAFE opens. The door opens."}]
    found, unique = rows_left([*gone, *kept], kept)
    assert found == gone
    assert [row["memory_id"] for row in unique] == ["1", "3"]
