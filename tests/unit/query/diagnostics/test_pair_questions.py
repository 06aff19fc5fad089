"""Questions made of two memories that share a name."""

from typing import Any

import pytest

from helix_query.diagnostics.pair_questions import FORMS, MOST_MENTIONS, pair_questions

TEXTS = (
    "Tomasz Wieczorek repaired the broken lantern beside the old harbour yesterday.",
    "Our violin teacher Tomasz Wieczorek moved into a garden flat near the museum.",
)


WORDS = FORMS["described"]


def line(ordinal: int, text: str, **fields: Any) -> dict[str, Any]:
    """A record as it is stored."""
    return {"ordinal": ordinal, "text": text, "title": "", "event_id": f"e{ordinal}", **fields}


@pytest.mark.parametrize("words", FORMS.values(), ids=FORMS)
def test_a_question_has_words_of_both_memories_and_not_the_name(words: tuple[int, int]) -> None:
    """As many as asked for, in the order of the texts; what both say is left out as well."""
    [question] = pair_questions([line(0, TEXTS[0]), line(7, TEXTS[1])], words, count=9)
    assert set(question.memories) == {0, 7}
    halves = [half.split() for half in question.text.rstrip("?").split(", ")]
    assert tuple(map(len, halves)) == words
    for half, ordinal in zip(halves, question.memories, strict=True):
        places = [TEXTS[ordinal // 7].index(word) for word in half]
        assert places == sorted(places)
    assert "Tomasz" not in question.text
    assert "Wieczorek" not in question.text


def test_the_same_memories_give_the_same_questions() -> None:
    """Draws are from a fixed seed, and each pair is asked for once."""
    lines = [line(n, TEXTS[n % 2].replace("old", f"old{n}")) for n in range(8)]
    once, again = (pair_questions(lines, WORDS, count=9) for _ in range(2))
    assert once == again
    assert once
    assert len({question.memories for question in once}) == len(once)


@pytest.mark.parametrize(
    "lines",
    [
        [line(0, TEXTS[0]), line(1, "A kettle boiled over in the kitchen of the bakery on Monday.")],
        [line(0, TEXTS[0], event_id="one"), line(1, TEXTS[1], event_id="one")],
        [line(0, TEXTS[0]), line(1, "Ask Tomasz Wieczorek.")],
        [line(n, f"{TEXTS[n % 2]} It was visit number {n}.") for n in range(MOST_MENTIONS + 1)],
        [],
    ],
    ids=["no name in common", "pieces of one event", "too few words", "a name of all", "nothing"],
)
def test_there_is_no_question_where_nothing_connects_two_memories(lines: list[dict[str, Any]]) -> None:
    """A name must connect two different events, and not too many."""
    assert pair_questions(lines, WORDS, count=9) == []


def test_a_title_names_its_memory() -> None:
    """A passage about what another one mentions."""
    passage = "The engineer repaired lanterns, taught violin and sailed ferries along the coast."
    lines = [line(0, TEXTS[0]), line(1, passage, title="Tomasz Wieczorek")]
    [question] = pair_questions(lines, WORDS, count=9)
    assert set(question.memories) == {0, 1}
