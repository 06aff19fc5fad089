"""A bare question is left out of the packed context where a packed statement quotes it with its answer."""

from typing import Any

import pytest

from helix_query.profile.files import load_profiles
from helix_query.profile.overrides import with_constants
from helix_query.recall.packing.entries import Entry, TokenCounter
from helix_query.recall.packing.pack import pack_entries
from helix_query.recall.packing.quoted_questions import quotes, quoting_in

HELIX = load_profiles()["helix"]
QUESTION = "Nice to meet you, Dana! What are you working on?"
STATEMENT = "What are you working on? The cover of an atlas."


def words(text: str) -> int:
    """A tokenizer that counts words."""
    return len(text.split())


def entry(name: str, text: str) -> Entry:
    """One memory under a heading of two words and a mark."""
    return Entry(name, "2026-03-01, Ann", text, tokens=words(text))


def row(name: str, text: str, **fields: Any) -> dict[str, Any]:
    """What packing reads of a memory."""
    bare = {"speech_act": "statement", "answers": "", "derived_from": "", "token_count": words(text)}
    return {"memory_id": name, "text": text, **bare, **fields}


def asked(text: str = QUESTION, **fields: Any) -> dict[str, Any]:
    """A bare question."""
    return row("q", text, **{"speech_act": "question"} | fields)


def told(text: str = STATEMENT, **fields: Any) -> dict[str, Any]:
    """The statement derived from its answer."""
    return row("d", text, **{"answers": "q", "derived_from": "a"} | fields)


def test_a_question_in_a_statement_derived_from_its_answer_is_quoted() -> None:
    """In any order of the answer; the courtesy in front of the question says nothing."""
    expected = {"q": frozenset({"d"})}
    assert quoting_in([told(), row("x", "something else"), asked()], HELIX) == expected
    assert quoting_in([asked(), told()], HELIX) == expected


@pytest.mark.parametrize(
    "rows",
    [
        [told(derived_from=""), asked()],
        [told(answers="other"), asked()],
        [told(), asked(speech_act="statement")],
        [told(), asked(token_count=HELIX.rank.acts.bare_tokens + 1)],
        [told("And since when? The cover of an atlas."), asked()],
        [asked()],
    ],
    ids=["the turn itself", "another question", "no question", "a long one", "not in its words", "alone"],
)
def test_every_other_question_keeps_its_place(rows: list[dict[str, Any]]) -> None:
    """Nothing is left out that the packed text does not hold."""
    assert quoting_in(rows, HELIX) == {}


def test_a_ranking_profile_may_pack_both() -> None:
    """`pack.leave_out_quoted`."""
    both = with_constants(HELIX, {"name": "both", "pack.leave_out_quoted": False})
    assert quoting_in([told(), asked()], both) == {}


@pytest.mark.parametrize(
    ("statement", "question", "expected"),
    [
        ("Where does Marco work? At the mill.", "Where does he work?", True),
        ("What is Ana's dog called? Rex.", "And her, fine? What is her dog called?", False),
        ("What is Ana's dog called? Rex.", "What is her dog called?", True),
        ("Where does Marco live? At the mill.", "Where does he work?", False),
        ("When are you\ngoing? Next April.", "When are  you going?", True),
        ("what time then. nine", "what time then", True),
        ("Do you want tea? No.", "Do you want tea? Are you staying long?", False),
        ("The trip. For how long? Two weeks.", "For how long?", True),
    ],
)
def test_every_sentence_of_a_question_is_quoted(statement: str, question: str, *, expected: bool) -> None:
    """But for white space, and a name in place of the first pronoun."""
    assert quotes(statement, question) is expected


def test_a_quoted_question_gives_its_room_to_others() -> None:
    """Three words of heading each: without the question the last one fits."""
    entries = [entry("d", STATEMENT), entry("q", QUESTION), entry("x", "one two three")]
    quoting = {"q": frozenset({"d"})}
    packed = pack_entries(entries, token_budget=19, counter=TokenCounter(words), quoting=quoting)
    assert packed.memory_ids == ("d", "x")
    assert packed.quoted_ids == ("q",)
    assert QUESTION not in packed.text
    both = pack_entries(entries, token_budget=99, counter=TokenCounter(words))
    assert set(both.memory_ids) == {"d", "q", "x"}


def test_a_question_is_packed_where_its_statement_does_not_fit() -> None:
    """Behind all others, since it says less."""
    entries = [entry("q", "who comes along"), entry("d", "who comes along? " * 9), entry("x", "one two")]
    quoting = {"q": frozenset({"d"})}
    packed = pack_entries(entries, token_budget=11, counter=TokenCounter(words), quoting=quoting)
    assert packed.memory_ids == ("x", "q")
    assert packed.quoted_ids == ()
