"""Which questions are kept for the index."""

from __future__ import annotations

from helix_doc2query.keep import keep


def test_a_question_of_the_texts_own_words_is_dropped() -> None:
    """It would find nothing that the text does not find itself, with any word endings."""
    assert keep(["what did we decide about releases"], "We decided about the release") == []


def test_a_question_with_a_new_word_is_kept() -> None:
    """The new word is what it is there for."""
    assert keep(["which database do we use"], "we use postgres") == ["which database do we use"]


def test_a_question_that_adds_nothing_to_the_ones_before_is_dropped() -> None:
    """Its new words are indexed already."""
    candidates = ["value of port: setting default", "what is the setting of port"]
    assert candidates[:1] == keep(candidates, "port 4222")


def test_near_equal_questions_are_kept_once() -> None:
    """Four of five words equal is the same question."""
    candidates = ["alpha beta gamma delta", "alpha beta gamma delta epsilon"]
    assert candidates[:1] == keep(candidates, "text")


def test_a_long_question_is_dropped() -> None:
    """160 characters are the most."""
    assert keep(["word" * 41], "text") == []


def test_no_more_than_eight_are_kept_in_their_order() -> None:
    """The first eight that add something."""
    candidates = [f"topic{n} about{n}" for n in range(12)]
    assert candidates[:8] == keep(candidates, "text")
