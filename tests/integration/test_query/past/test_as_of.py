"""Recall with `as_of`: what existed and was valid at a past moment, in every channel."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import query_of, scope_of
from helix_query.diagnostics.replays import Replays
from helix_query.diagnostics.why_not import why_not
from helix_query.generations.snapshot import Snapshot
from helix_query.recall.packing.memory import get_memory
from helix_query.recall.recall import recall
from helix_query.recall.result import RecallResult
from helix_query.scheduling.lazy import Lazy
from helix_shared.encoders.encoder import Encoder
from helix_shared.errors import NotFoundError, OverdueError
from helix_shared.identity import memory_id
from helix_shared.moments import microseconds
from tests.examples import examples

from .past import DAYS, DEEDS, NOW, PLACES, PROFILES, START, Past, served_from, written

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder, corpus_type: Any) -> Iterator[Past]:
    """One generation of 140 random memories."""
    root = tmp_path_factory.mktemp("past") / "data"
    corpus = corpus_type.create(root, encoder)
    made = served_from(root, encoder, corpus, written(7))
    yield made
    for lane in made.lanes.values():
        lane.shutdown()
    made.served.generation.close()
    corpus.live.close()


def ids_of(answer: RecallResult) -> list[str]:
    """Ids of an answer, best first."""
    return [found.row["memory_id"] for found in answer.rows]


ACME = recall_pb2.Scope(tenant_id="acme")
days = st.floats(min_value=-3, max_value=DAYS + 3, allow_nan=False)
queries = st.sampled_from(
    [*(f"what {deed} in {place}" for deed, place in zip(DEEDS, PLACES, strict=True)), "note 31", "violin"]
)


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(day=days, query=queries, user=st.sampled_from(["", "ann"]), mode=st.sampled_from([0, 1, 2, 3]),
       profile=st.sampled_from(sorted(PROFILES)))  # fmt: skip
def test_only_memories_valid_at_the_moment_come_back(
    past: Past, day: float, query: str, user: str, mode: int, profile: str
) -> None:
    """In any mode and profile: only memories that were created, current, valid and visible."""
    as_of = START + timedelta(days=day)
    answer = past.ask(query, as_of=as_of, user=user, mode=mode, ranking_profile=profile)
    assert answer.degraded == ()
    assert set(ids_of(answer)) <= past.known(as_of, user)


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(day=days, user=st.sampled_from(["", "ann"]))
def test_all_memories_valid_at_the_moment_can_be_found(past: Past, day: float, user: str) -> None:
    """The dense channel returns all of them, also those superseded or expired since."""
    as_of = START + timedelta(days=day)
    answer = past.ask("what happened to the harbour", as_of=as_of, user=user, mode=1)
    assert set(ids_of(answer)) == past.known(as_of, user)


def test_the_random_memories_hold_every_case(past: Past) -> None:
    """The random corpus covers the cases of the two tests above."""
    middle = START + timedelta(days=DAYS / 2)
    known, now = past.known(middle), past.known(NOW)
    hidden = {identity for identity, row in zip(past.ids, past.rows, strict=True) if row["hidden"]}
    assert len(known & hidden) >= 10
    assert len(now - known) >= 10
    assert {bool(row["superseded_by"]) for row in past.rows if not row["is_latest"]} == {True, False}
    assert len(past.served.as_of_index.value.stragglers) >= 4


def test_without_as_of_nothing_hidden_comes_back(past: Past) -> None:
    """Hidden memories need `as_of`."""
    answer = past.ask("what happened to the harbour", mode=1, now=NOW)
    assert set(ids_of(answer)) == past.known(NOW)
    assert not any(found.row["hidden"] for found in answer.rows)


def test_the_lexical_channel_searches_only_what_existed(past: Past) -> None:
    """Later memories take no place of earlier ones; the lexicon has only the latest versions."""
    as_of = START + timedelta(days=DAYS / 3)
    known = past.served.as_of_index.value.by(microseconds(as_of))
    created = past.served.generation.signals.created_at
    inside = {*range(known.below), *known.also}
    assert inside == set(np.flatnonzero(created <= microseconds(as_of)).tolist())


def test_a_memory_is_shown_as_it_was_then(corpus: Any, encoder: Encoder) -> None:
    """Not yet superseded, and without context that a later turn added."""
    first, second = START, START + timedelta(days=2)
    rows: list[dict[str, Any]] = [
        {"name": "old", "text": "The port is 5432.", "created_at": first, "hidden": True, "is_latest": False,
         "superseded_by": memory_id("acme", "acme/new", 0), "context": "what the port was, what it is"},
        {"name": "new", "text": "The port is 6432.", "created_at": second, "context": "a port",
         "corrects": memory_id("acme", "acme/old", 0)},
    ]  # fmt: skip
    past = served_from(corpus.root, encoder, corpus, rows)
    old, new = past.ids
    between = first + timedelta(days=1)
    answer = past.ask("which port", as_of=between)
    assert [(found.row["memory_id"], found.row["superseded_by"]) for found in answer.rows] == [(old, "")]
    assert ids_of(past.ask("which port", as_of=second)) == [new]
    selection = scope_of(ACME, recall_pb2.GetMemoryRequest(as_of=between))
    row, _ = get_memory(old, selection, past.served, now=NOW)
    assert row["text"] == "The port is 5432."
    for identity, moment in ((new, between), (old, second), (old, first - timedelta(seconds=1))):
        selection = scope_of(ACME, recall_pb2.GetMemoryRequest(as_of=moment))
        with pytest.raises(NotFoundError):
            get_memory(identity, selection, past.served, now=NOW)
    past.served.generation.close()


def test_why_not_waits_for_as_of_data_until_its_deadline(past: Past) -> None:
    """Another thread loads what `as_of` needs for longer than the deadline."""
    served = Snapshot(past.served.generation, past.served.encoder, past.served.centroids)
    gate, begun = threading.Event(), threading.Event()
    object.__setattr__(served, "_as_of_reads", Lazy(lambda: (begun.set(), gate.wait(60))))
    reading = threading.Thread(target=lambda: served._as_of_reads.value)
    reading.start()
    assert begun.wait(60)
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="which port")
    as_of = START + timedelta(days=DAYS / 2)
    request.as_of.FromDatetime(as_of)
    began = time.monotonic()
    parse = partial(query_of, profiles=PROFILES, clock=NOW)
    asking = partial(recall, lanes=past.lanes, channel_deadline_seconds=30)
    replays = Replays(served, PROFILES, parse, asking, until=began + 60, deadline=began + 0.1)
    with pytest.raises(OverdueError):
        next(why_not(request, min(past.known(as_of)), replays))
    assert time.monotonic() - began < 30
    gate.set()
    reading.join()


def test_of_two_corrections_the_first_counts_from_its_own_time(corpus: Any, encoder: Encoder) -> None:
    """Only the last version is stored; between the two corrections the first one was current."""
    moments = [START + timedelta(days=day) for day in (0, 2, 4)]
    old = memory_id("acme", "acme/old", 0)
    last = memory_id("acme", "acme/last", 0)
    gone = {"hidden": True, "is_latest": False, "superseded_by": last}
    rows: list[dict[str, Any]] = [
        {"name": "old", "text": "The port is 5432.", "created_at": moments[0]} | gone,
        {"name": "first", "text": "The port is 6432.", "created_at": moments[1], "corrects": old} | gone,
        {"name": "last", "text": "The port is 7432.", "created_at": moments[2], "corrects": old},
    ]
    past = served_from(corpus.root, encoder, corpus, rows)
    asked = [ids_of(past.ask("which port", as_of=moment + timedelta(days=1))) for moment in moments]
    assert asked == [[identity] for identity in past.ids]
    past.served.generation.close()


@pytest.mark.parametrize("year", [1, 9999])
@pytest.mark.parametrize("query", ["what happened last week", "which violin was sold two years ago", "q"])
@pytest.mark.parametrize("day", [(1, 1), (12, 31)])
def test_the_ends_of_the_calendar_are_moments(
    past: Past, year: int, query: str, day: tuple[int, int]
) -> None:
    """In year 1 nothing existed; in year 9999 all memories without an end are valid."""
    as_of = datetime(year, *day, tzinfo=UTC)
    answer = past.ask(query, as_of=as_of)
    assert set(ids_of(answer)) <= past.known(as_of)
    assert bool(answer.rows) == (year == 9999)
