"""A query for a name of code gets what defines it before what mentions it more often."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from helix_query.generations.snapshot import Snapshot
from helix_query.generations.warmup import warm
from helix_query.recall.evidence.definition import MAX_DEFINING, defining_memories
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.moments import microseconds

from .asking import NOW, PROFILE, asked, opened

pytestmark = pytest.mark.integration

DEFINED = "def wrap_session(config, run):\n    session = Session(config)\n    return run(session)"
GONE = "def wrap_session(config):\n    return old(config)"
CLOSING = 12
"""More memories than `definition_limit` define `close`."""


@pytest.fixture(scope="module")
def generation(corpus_type: Any, encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Many uses of a function, one definition, one that holds no more, and those of other people."""
    rows = [
        {"text": f"return wrap_session(config, main_{n})  # wrap_session wraps session {n}"}
        for n in range(30)
    ]
    rows += [
        {"text": DEFINED, "title": "src/main.py::wrap_session"},
        {"text": GONE, "valid_to": NOW - timedelta(days=1)},
        {"text": "def wrap_session(): ...", "owner": "ada", "user_id": "ada"},
        {"text": "def wrap_session(): ...", "tenant_id": "other"},
    ]
    rows += [
        {"text": f"def retired(): return {n}", "valid_to": NOW - timedelta(days=1)}
        for n in range(MAX_DEFINING)
    ]
    rows += [
        {"text": "def retired(): ..."},
        {"text": "We decided that wrap_session stays one function."},
    ]
    rows += [{"text": f"class Part{n}:\n    def close(self):\n        pass"} for n in range(CLOSING)]
    with opened(corpus_type, encoder, tmp_path_factory.mktemp("defined"), rows) as generation:
        yield generation


@pytest.fixture(scope="module")
def served(generation: Generation, encoder: Any) -> Snapshot:
    """The generation ready to answer."""
    return warm(generation, encoder, profile=PROFILE, now=NOW)


@pytest.mark.parametrize(
    "query", ["wrap_session", "Where is `wrap_session` defined?", "what does wrap_session() do"]
)
def test_the_definition_comes_first(served: Snapshot, query: str) -> None:
    """Without the search a use that names the function more often is before it."""
    row = asked(served, query).rows[0]
    assert row.row["text"] == DEFINED
    assert asked(served, query, definition_limit=0).rows[0].row["text"] != DEFINED


def test_a_statement_that_names_it_is_no_look_up(served: Snapshot) -> None:
    """A change note is about more than the function that it names."""
    answer = asked(served, "Fix the order of sessions when wrap_session gets two.")
    assert "exact_lookup" in answer.route.intents
    assert answer.trace is not None
    assert answer.trace.retrieved.definition is None


@pytest.mark.parametrize("query", ["who calls wrap_session?", "what did we decide about wrap_session?"])
def test_other_questions_about_it_look_up_nothing(served: Snapshot, query: str) -> None:
    """They are for other memories."""
    answer = asked(served, query)
    assert answer.trace is not None
    assert answer.trace.retrieved.definition is None
    assert answer.rows[0].row["text"] != DEFINED


def test_a_past_moment_looks_up_nothing(served: Snapshot) -> None:
    """The lexicon does not know what defined the name before."""
    answer = asked(served, "wrap_session", as_of=NOW)
    assert answer.trace is not None
    assert answer.trace.retrieved.definition is None


def test_only_what_the_caller_sees_and_what_holds_is_found(generation: Generation) -> None:
    """Scopes, closed memories, later ones and those already served."""

    def found(selection: Selection, name: str = "wrap_session", **options: Any) -> list[str]:
        visibility = Visibility.of(generation, selection, NOW)
        options = {"limit": 30, "occurred_until": microseconds(NOW)} | options
        hits = defining_memories(name, visibility, lexicon=generation.lexicon, **options)
        return sorted(line["text"] for line in generation.signals.records(hits.ordinals))

    assert found(Selection("acme")) == [DEFINED]
    assert found(Selection("acme", user_id="ada")) == ["def wrap_session(): ...", DEFINED]
    assert found(Selection("other")) == ["def wrap_session(): ..."]
    assert found(Selection("nobody")) == []
    assert found(Selection("acme"), occurred_until=0) == []
    assert found(Selection("acme"), already_served=np.array([30])) == []
    assert found(Selection("acme"), "Wrap_Session") == [DEFINED]
    assert found(Selection("acme", user_id="ada"), limit=1) == []
    assert found(Selection("acme"), "retired") == [], "of so many it is not known which the caller sees"


def test_a_name_that_many_memories_define_lifts_none(served: Snapshot) -> None:
    """It tells little; the order is that of the other stages."""
    answer = asked(served, "Where is `close` defined?")
    assert answer.trace is not None
    assert len(answer.trace.retrieved.definition or ()) == 0
    assert len(asked(served, "Where is `close` defined?", definition_limit=CLOSING).rows) > 0
