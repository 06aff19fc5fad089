"""doc2query's rules: which questions a memory answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_doc2query.consumer import expansion_rows, first_of_a_turn
from helix_doc2query.keep import QUESTIONS, keep
from helix_doc2query.predict import predict
from tests.unit.linear_time import Linear, repeated


def row(text: str, *, memory_id: str = "m", **fields: str) -> dict[str, Any]:
    """A memory row of this text."""
    empty = {"title": "", "speaker": "", "speech_act": "statement", "derived_from": ""}
    return {"memory_id": memory_id, "text": text, **empty, **fields}


def questions(text: str, *, speaker: str = "", title: str = "") -> list[str]:
    """Candidates for a memory of this text."""
    return predict(row(text, speaker=speaker, title=title))


@pytest.mark.parametrize(
    ("text", "speaker", "expected"),
    [
        (
            "We decided to use Postgres for the event store because it locks rows.",
            "",
            "what was the decision about the event store",
        ),
        ("We agreed on weekly releases.", "", "reason for the choice of weekly releases"),
        ("Decision: ship on Friday.", "", "what did we decide on ship on Friday"),
        ("We switched the cache from Redis to Valkey.", "", "what replaced the old the cache"),
        ("helix_old was renamed to helix_new.", "", "new name of helix_old"),
        ("ruff replaces flake8.", "", "what to use instead of flake8"),
        ("flake8 was replaced by ruff.", "", "what to use instead of flake8"),
        ("The old API has been superseded by v2.", "", "successor new The old API"),
        ("I really love dark roast.", "Mel", "which likes and preferences does Mel have"),
        ("I prefer tabs.", "", "what does user prefer: favourite favorite preference"),
        ("I can't stand olives.", "Mel", "what does Mel dislike: hate avoid preference"),
        ("My favourite colour is green.", "Mel", "which colour does Mel like best: preference"),
        ("I'm allergic to nuts.", "Mel", "what can Mel not eat: allergy dietary restriction"),
        ("I\u2019m allergic to nuts.", "Mel", "what can Mel not eat: allergy dietary restriction"),
        ("i dont like olives", "Mel", "what does Mel dislike: hate avoid preference"),
        ("My dog\u2019s name is Rex.", "Mel", "what is the name of the dog of Mel"),
        ("Never commit to main.", "", "rule convention policy: commit to main"),
        ("The outage was caused by a full disk.", "", "reason root cause why The outage"),
        ("error[E0308]: mismatched types", "", "how to fix E0308: solution"),
        ("It raised KeyError again", "", "what causes KeyError: cause reason problem failure"),
        ("Fixed by adding an index.", "", "how to fix solve: solution fix workaround adding an index"),
        ("To run the tests, use `make test`.", "", "how to run the tests: command steps instructions"),
        ("Run `make` to build it.", "", "how to build it: command steps instructions"),
        ("Set HELIX_PORT to 4222.", "", "value of HELIX_PORT: setting configuration option"),
        ("timeout = 30", "", "what is timeout set to: value setting configuration"),
        ("The pool size defaults to 10.", "", "value of The pool size: setting configuration default"),
        ("Bryan suggested a rewrite.", "", "who said it: opinion advice of Bryan"),
        ("I work as a nurse.", "Mel", "what job does Mel have: occupation employer career"),
        ("I moved to Berlin.", "Mel", "where does Mel live: home residence city address"),
        ("I visited Rome.", "Mel", "where did Mel travel: trip visit place"),
        ("My dog is named Rex.", "Mel", "what is the name of the dog of Mel"),
        ("It ships on 2024-03-12.", "", "when did it happen: date time day"),
        ("We met last week.", "", "when did it happen: date time"),
        ("Helix is a memory.", "", "what is Helix: definition meaning"),
        ("RRF stands for reciprocal rank fusion.", "", "definition meaning abbreviation of RRF"),
        ("The opera was composed by Ann.", "", "composer"),
        ("Stored in postgres.", "", "postgresql database storage"),
        ("1. Press the button\n10. Wait", "", "steps procedure guide how to Press the button"),
        ("1. Press the button\n10. Wait a day", "", "steps procedure guide how to Wait a day"),
        ("She loves dark roast.", "Mel", "what does she prefer: favourite favorite preference"),
        ("Her favourite colour is green.", "Mel", "which colour does she like best: preference"),
        ("The team works at Acme.", "Mel", "what job does the team have: occupation employer career"),
    ],
)
def test_a_statement_answers_its_question(text: str, speaker: str, expected: str) -> None:
    """Each kind of statement gives the question people ask for it."""
    assert expected in questions(text, speaker=speaker)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Redux was replaced by Zustand.", "Zustand"),
        ("I don't like olives.", "rule convention policy"),
        ("I never eat fish.", "rule convention policy"),
        ("I should never eat fish.", "rule convention policy"),
        ("She always takes the bus.", "rule convention policy"),
        ("Don't forget to buy milk.", "rule convention policy"),
        ("I have been sick for a week.", "travel"),
        ("I'd like a coffee.", "prefer"),
        ("We settled in Leeds.", "decision"),
        ("We went crazy about the plan.", "travel"),
        ("The company moved in 2020.", "live"),
        ("She loves dark roast, and they live in Berlin.", "Mel"),
    ],
)
def test_a_question_is_not_about_something_else(text: str, wrong: str) -> None:
    """What took the place of something is used itself, a habit is no rule, and others are not the speaker."""
    assert not any(wrong in question for question in questions(text, speaker="Mel"))


@pytest.mark.parametrize(
    "text",
    [
        "Wow, that sounds great! Keep going!",
        "In spring the black swans are back.",
        "Both teams took the express train.",
        "Open the windows, the dryer is running.",
        "He recorded how much yarn and poetry she had.",
    ],
)
def test_plain_talk_answers_nothing(text: str) -> None:
    """Small talk gets no questions, and ordinary words no category of software."""
    assert questions(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "What is the best one?",
        "It is a good idea.",
        "That was the point.",
        "My plan is a simple one.",
        "Wow is the word.",
        "Hello is a word.",
        "The thing is a mess.",
        "I love it.",
        "She prefers this one.",
        "We decided on that.",
        "It was caused by it.",
        "You could run it to do that.",
        "Did you say we agreed on weekly releases?",
    ],
)
def test_nobody_asks_about_pronouns_and_generic_words(text: str) -> None:
    """What points to another sentence, and a sentence that asks, answer no question."""
    assert questions(text, speaker="Mel") == []


@pytest.mark.parametrize("act", ["question", "acknowledgement"])
def test_questions_and_acknowledgements_answer_nothing(act: str) -> None:
    """The act of the whole turn counts, also for its search words."""
    asked = row("We agreed on weekly releases of the db.", speech_act=act)
    assert expansion_rows(asked) == []
    assert expansion_rows(asked | {"speech_act": "decision"}) != []


def test_a_derived_statement_has_questions_only_if_its_turn_has_none() -> None:
    """Both are shown as one memory, so that one set of questions is enough."""
    turn = row("We agreed on weekly releases.", memory_id="turn")
    derived = row("After the review we agreed on weekly releases.", memory_id="derived", derived_from="turn")
    bare = row("Berlin.", memory_id="bare")
    answer = row("I moved to Berlin.", memory_id="answer", derived_from="bare")
    rows = [turn, derived, bare, answer]
    made = [made for given in rows for made in expansion_rows(given)]
    assert [made["memory_id"] for made in made] == ["turn", "derived", "answer"]
    assert [made["memory_id"] for made in first_of_a_turn(rows, made)] == ["turn", "answer"]


def test_the_title_gives_search_words_too() -> None:
    """A subject of the title counts as mentioned."""
    assert [q for q in questions("It is fast.", title="DuckDB") if "database" in q] == ["database storage"]


@given(st.text(max_size=400), st.text(max_size=40))
def test_no_memory_breaks_prediction(text: str, speaker: str) -> None:
    """Any row gives the same few questions twice."""
    first = keep(questions(text, speaker=speaker), text)
    assert first == keep(questions(text, speaker=speaker), text)
    assert len(first) <= QUESTIONS


@pytest.mark.parametrize(
    "piece",
    [
        "we decided to use a for a for ",
        "to a, to a, ",
        "a replaces a replaces ",
        "set a to set a to ",
        "A",
        "\n",
        "x=1 ",
    ],
)
def test_time_is_linear_for_hostile_texts(piece: str, linear_beginnings: Linear) -> None:
    """Up to the longest text, however it is made."""
    assert not linear_beginnings.failures(
        lambda text: keep(questions(text, speaker=text[:256]), text), texts=repeated(piece)
    )
