"""A verbatim quotation finds the memory that contains it, among many that say nearly the same."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from helix_query.generations.snapshot import Snapshot
from helix_query.generations.warmup import warm
from helix_query.recall.evidence.phrase_match import phrase_match
from helix_query.recall.evidence.quotation import LEAST_WORDS, is_quotation
from helix_query.recall.stages.rank import score
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.moments import microseconds

from .asking import NOW, PROFILE, asked, context_of, opened

pytestmark = pytest.mark.integration

WORDS = "drain the queue, restart worker-7 and then check its log for errors"
SAID = (
    f"When deliveries pile up we {WORDS}. Somebody from the platform team looks at dashboards afterwards, "
    "and the next morning we talk about it: who was on call, what the customers noticed, what it cost us."
)
NEW_PORT = "Since the move the staging database has 6543 as its current port."
QUOTED_IN_CHINESE = "昨天夜里数据库连接池耗尽导致支付接口超时，今天已经恢复。"  # noqa: RUF001 - meant
CHINESE_WORDS = "数据库连接池耗尽导致支付接口"
OTHER_ORDER = "Check the log for errors, then drain its queue and restart worker-7."


@pytest.fixture(scope="module")
def generation(corpus_type: Any, encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Sixty memories with nearly all of the words, and some that hold them all in a row."""
    rows = [
        {"text": f"Drain the queue, restart worker {n}, check its log for errors."} for n in range(10, 70)
    ]
    rows += [
        {"text": OTHER_ORDER, "confidence": 0.8},
        {"text": SAID},
        {"text": f"ada: {WORDS}!", "owner": "ada", "user_id": "ada"},
        {"text": f"gone: {WORDS}", "hidden": True},
        {"text": f"over: {WORDS}", "valid_to": NOW - timedelta(days=1)},
        {"text": f"elsewhere: {WORDS}", "tenant_id": "other"},
        {
            "text": "The current port of the staging database is 5432, as the wiki has it.",
            "occurred_at": NOW - timedelta(days=300),
        },
        {"text": NEW_PORT, "occurred_at": NOW - timedelta(days=3)},
        {"text": QUOTED_IN_CHINESE},
        {"text": "支付接口超时以后先看数据库，再看连接池是不是耗尽，导致的影响要写清楚。"},  # noqa: RUF001 - meant
        {"text": "Nothing to see.", "title": "How we drain the queue: restart WORKER-7"},
    ]
    with opened(corpus_type, encoder, tmp_path_factory.mktemp("quoted"), rows) as generation:
        yield generation


@pytest.fixture(scope="module")
def served(generation: Generation, encoder: Any) -> Snapshot:
    """The generation ready to answer."""
    return warm(generation, encoder, profile=PROFILE, now=NOW)


def texts_matching(
    generation: Generation, query: str, selection: Selection, limit: int = 30, **options: Any
) -> list[str]:
    """Texts that hold the query word for word."""
    visibility = Visibility.of(generation, selection, NOW)
    options = {"occurred_until": microseconds(NOW)} | options
    hits = phrase_match(query, visibility, lexicon=generation.lexicon, limit=limit, **options)
    return [line["text"] for line in generation.signals.records(hits.ordinals)]


def test_words_in_a_row_differ_from_the_same_words_apart(generation: Generation) -> None:
    """Case and punctuation do not count, the order does; invisible memories are not found."""
    acme = Selection("acme")
    assert texts_matching(generation, WORDS, acme) == [SAID]
    assert texts_matching(generation, WORDS.upper().replace(",", " -"), acme) == [SAID]
    assert sorted(texts_matching(generation, WORDS, Selection("acme", user_id="ada"))) == [
        SAID,
        f"ada: {WORDS}!",
    ]
    assert texts_matching(generation, WORDS, Selection("other")) == [f"elsewhere: {WORDS}"]
    assert texts_matching(generation, WORDS, Selection("nobody")) == []
    assert texts_matching(generation, f"{WORDS} zebra", acme) == []
    few = texts_matching(generation, "drain the queue restart worker-7", acme, limit=200)
    assert sorted(few) == ["Nothing to see.", SAID]
    assert texts_matching(generation, "drain the que", acme) == []


def test_part_of_a_clause_without_spaces_is_quoted(generation: Generation, served: Snapshot) -> None:
    """Each letter of Chinese counts as a word does, in the look-up and in the answer of a recall."""
    assert texts_matching(generation, CHINESE_WORDS, Selection("acme")) == [QUOTED_IN_CHINESE]
    row = asked(served, CHINESE_WORDS).rows[0]
    assert row.row["text"] == QUOTED_IN_CHINESE
    assert "lexical" in row.channels


def test_a_phrase_match_comes_first(served: Snapshot) -> None:
    """Without the search a memory with the same words in another order is before it."""
    row = asked(served, WORDS).rows[0]
    assert row.row["text"] == SAID
    assert "lexical" in row.channels
    without = [found.row["text"] for found in asked(served, WORDS, phrase_match_limit=0).rows]
    assert without[0] == OTHER_ORDER


def test_the_same_question_asked_before_is_not_its_answer(served: Snapshot) -> None:
    """Only statements are looked up word for word."""
    answer = asked(served, f"How do we {WORDS}?")
    assert answer.trace is not None
    assert answer.trace.retrieved.phrase_match is None


def test_a_phrase_match_is_a_step_of_the_score(served: Snapshot) -> None:
    """Of one candidate alone."""
    answer = asked(served, WORDS)
    assert answer.trace is not None
    candidates, context = answer.trace.candidates, context_of(served, WORDS)
    steps = {step.name: step.values for step in score(context, candidates, answer.route).steps}
    assert np.count_nonzero(steps["phrase_match"]) == 1
    assert candidates.ordinals[np.argmax(steps["phrase_match"])] == 61


def test_as_of_matches_what_was_created_by_then(generation: Generation, served: Snapshot) -> None:
    """As of a time before anything was written there is no match."""
    selection = replace(Selection("acme"), as_of=NOW - timedelta(days=9_000))
    visibility = Visibility.of(generation, selection, NOW)
    hits = phrase_match(
        WORDS,
        visibility,
        lexicon=generation.lexicon,
        limit=30,
        occurred_until=microseconds(NOW),
        within=served.as_of_index.value.by(0),
    )
    assert len(hits) == 0


def test_later_and_already_served_memories_do_not_count_for_the_limit(generation: Generation) -> None:
    """The limit counts the others."""
    acme = Selection("acme")
    before = microseconds(NOW - timedelta(days=9_000))
    assert texts_matching(generation, WORDS, acme, occurred_until=before) == []
    words = "drain the queue, restart worker"
    every = texts_matching(generation, words, acme, limit=200)
    assert len(every) > 60
    visibility = Visibility.of(generation, acme, NOW)
    has = generation.lexicon.search_all_words(words, acme, limit=50).ordinals
    left = texts_matching(generation, words, acme, limit=20, already_served=has)
    assert left
    known = {line["text"] for line in visibility.signals.records(has)}
    assert not known & set(left)


def test_a_note_on_what_holds_now_gets_the_latest_statement(served: Snapshot) -> None:
    """An older memory in the same words is not ranked before the newer value."""
    answer = asked(served, "the current port of the staging database")
    assert "current_value" in answer.route.intents
    assert answer.rows[0].row["text"] == NEW_PORT


def test_a_failing_search_is_named_by_itself(served: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lexical channel answered all the same."""

    def failing(*_args: Any, **_options: Any) -> Any:
        raise RuntimeError("no lines")

    monkeypatch.setattr("helix_query.recall.evidence.searches.phrase_match", failing)
    answer = asked(served, WORDS)
    assert answer.degraded == ("phrase match",)
    assert any("lexical" in row.channels for row in answer.rows)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", False),
        ("one two three four", False),
        ("one, two; three four\nfive", True),
        ("... !!! ??? --- ///", False),
        ("数据库连接", False),
        (CHINESE_WORDS, True),
        (f"{CHINESE_WORDS}\uff1f", False),
        ("word " * 401, False),
        ("How do we drain the queue and restart", False),
        ("what is the port of staging now", False),
        ("could you list the incidents of May", False),
        ("Is the server up and running today", False),
        ("find the notes about the last release", False),
        ("the port of the staging server, please?", False),
        ("so why did we choose the other database", True),
        ("When deliveries pile up we drain the queue", True),
        ("which creates the next value in the range", True),
        ("Could not resolve host: registry.npmjs.org port 443", True),
        ("Can't connect to MySQL server on localhost (111)", True),
        ("did not find expected key while parsing block mapping", True),
        ("has been killed by the OOM killer, pid 431", True),
        ("is not a valid git repository or any parent", True),
        ("plan: 3 to add, 1 to change, 0 to destroy", True),
        ("find . -name '*.py' -exec grep foo", True),
        ("count = count + len(rows) - 1", True),
        ("let file = File::open(path_of_it, &options)?", True),
    ],
)
def test_what_is_long_enough_for_a_quotation(query: str, *, expected: bool) -> None:
    """Five words and more, up to two thousand characters, and nothing that is asked."""
    assert LEAST_WORDS == 5
    assert is_quotation(query) is expected
