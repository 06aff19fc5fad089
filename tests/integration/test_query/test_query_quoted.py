"""Somebody's very words find the memory they stand in, past many that say nearly the same."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from helix_query.channels.quoted import LEAST_WORDS, is_quotation, quoted
from helix_query.pool import SEARCHED
from helix_query.profile_files import load_profiles
from helix_query.question import Question, Recalled
from helix_query.recall import recall
from helix_query.served import Served
from helix_query.view import View
from helix_query.warm import warm
from helix_shared.artifacts.generation import Generation
from helix_shared.artifacts.selection import Selection

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
WORDS = "drain the queue, restart worker-7 and then check its log for errors"
SAID = (
    f"When deliveries pile up we {WORDS}. Somebody from the platform team looks at the dashboards afterwards."
)
OTHER_ORDER = "Check the log for errors, then drain its queue and restart worker-7."


@pytest.fixture(scope="module")
def generation(corpus_type: Any, encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Sixty memories with nearly all of the words, and some that hold them all in a row."""
    rows = [
        {"text": f"Drain the queue, restart worker {n}, check its log for errors."} for n in range(10, 70)
    ]
    rows += [
        {"text": OTHER_ORDER},
        {"text": SAID},
        {"text": f"ada: {WORDS}!", "owner": "ada", "user_id": "ada"},
        {"text": f"gone: {WORDS}", "hidden": True},
        {"text": f"over: {WORDS}", "valid_to": NOW - timedelta(days=1)},
        {"text": f"elsewhere: {WORDS}", "tenant_id": "other"},
        {"text": "Nothing to see.", "title": "How we drain the queue: restart WORKER-7"},
    ]
    folder = tmp_path_factory.mktemp("quoted")
    corpus = corpus_type.create(folder / "data", encoder)
    corpus.add(rows)
    opened = Generation.open(corpus.root, corpus.publish(), scratch=folder)
    yield opened
    opened.close()
    corpus.live.close()


@pytest.fixture(scope="module")
def served(generation: Generation, encoder: Any) -> Served:
    """The generation ready to answer."""
    return warm(generation, encoder, profile=load_profiles()["helix"], now=NOW)


def texts_quoting(generation: Generation, query: str, selection: Selection, limit: int = 30) -> list[str]:
    """Texts of who holds the query word for word."""
    view = View.of(generation, selection, NOW)
    hits = quoted(query, view, lexicon=generation.lexicon, limit=limit)
    return [line["text"] for line in generation.signals.lines(hits.ordinals)]


def asked(served: Served, query: str, **options: Any) -> Recalled:
    """A recall of tenant acme, by the default profile with other `retrieve` constants."""
    profile = load_profiles()["helix"]
    profile = profile.model_copy(update={"retrieve": profile.retrieve.model_copy(update=options)})
    lanes = {channel: ThreadPoolExecutor(2) for channel in SEARCHED}
    try:
        return recall(
            Question(query, Selection("acme"), NOW, explain=True),
            served,
            profile=profile,
            lanes=lanes,
            channel_deadline_seconds=30,
        )
    finally:
        for lane in lanes.values():
            lane.shutdown()


def test_words_in_a_row_are_told_from_the_same_words_elsewhere(generation: Generation) -> None:
    """Capitals and punctuation do not matter, the order does; nothing out of sight is told."""
    acme = Selection("acme")
    assert texts_quoting(generation, WORDS, acme) == [SAID]
    assert texts_quoting(generation, WORDS.upper().replace(",", " -"), acme) == [SAID]
    assert sorted(texts_quoting(generation, WORDS, Selection("acme", user_id="ada"))) == [
        SAID,
        f"ada: {WORDS}!",
    ]
    assert texts_quoting(generation, WORDS, Selection("other")) == [f"elsewhere: {WORDS}"]
    assert texts_quoting(generation, WORDS, Selection("nobody")) == []
    assert texts_quoting(generation, f"{WORDS} zebra", acme) == []
    few = texts_quoting(generation, "drain the queue restart worker-7", acme, limit=200)
    assert sorted(few) == ["Nothing to see.", SAID]
    assert texts_quoting(generation, "drain the que", acme) == []


def test_the_memory_with_the_very_words_comes_first(served: Served) -> None:
    """Without the list another one, with the same words in another order, stands before it."""
    row = asked(served, WORDS).rows[0]
    assert row.row["text"] == SAID
    assert "lexical" in row.channels
    without = [found.row["text"] for found in asked(served, WORDS, quoted_limit=0).rows]
    assert without[0] == OTHER_ORDER


def test_a_question_that_somebody_asked_before_is_not_its_answer(served: Served) -> None:
    """Only statements are looked up word for word."""
    answer = asked(served, f"How do we {WORDS}?")
    assert answer.explanation is not None
    assert all(one.query != "word for word" for one in answer.explanation.trace.retrieved.rankings)


def test_the_explanation_tells_who_was_quoted(served: Served) -> None:
    """A step of its own, which the score is made of."""
    answer = asked(served, WORDS)
    assert answer.explanation is not None
    scoring = answer.explanation.scoring
    steps = {step.name: step.values for step in scoring.steps}
    assert np.count_nonzero(steps["quoted"]) == 1
    assert answer.explanation.trace.pool.ordinals[np.argmax(steps["quoted"])] == 61


def test_past_moments_quote_what_was_known_then(generation: Generation, served: Served) -> None:
    """As of a time before anything was written nothing is quoted."""
    selection = replace(Selection("acme"), as_of=NOW - timedelta(days=9_000))
    view = View.of(generation, selection, NOW)
    known = served.chronology.value.known_at(0)
    assert len(quoted(WORDS, view, lexicon=generation.lexicon, limit=30, known=known)) == 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", False),
        ("one two three four", False),
        ("one, two; three four\nfive", True),
        ("... !!! ??? --- ///", False),
        ("word " * 401, False),
    ],
)
def test_what_is_long_enough_for_a_quotation(query: str, *, expected: bool) -> None:
    """Five words and more, up to two thousand characters."""
    assert LEAST_WORDS == 5
    assert is_quotation(query) is expected
