"""Questions about earlier times find what a later memory closed, and nothing that was removed otherwise."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import query_of
from helix_query.profile.past_question import PastQuestion
from helix_query.recall.candidates import Candidates, Route
from helix_query.recall.context import RecallContext
from helix_query.recall.lifecycle.related import with_related
from helix_query.recall.result import RecallResult
from helix_shared.encoders.encoder import Encoder
from helix_shared.identity import memory_id

from .past import NOW, PROFILES, Past, served_from

pytestmark = pytest.mark.integration

DAY = timedelta(days=1)


def _id(name: str) -> str:
    return memory_id("acme", f"acme/{name}", 0)


def _closed(name: str, text: str, by: str, day: int, until: int, **fields: Any) -> dict[str, Any]:
    """A memory of `day` days ago that another one closed `until` days ago."""
    hidden = {"hidden": True, "is_latest": False, "superseded_by": _id(by)}
    times = {"occurred_at": NOW - day * DAY, "closed_at": NOW - until * DAY}
    return {"name": name, "text": text, **hidden, **times, **fields}


ROWS: list[dict[str, Any]] = [
    _closed("first", "The code of the garden gate is 1907.", "second", 90, 60),
    _closed("second", "We changed the code of the garden gate to 2210.", "third", 60, 30),
    {"name": "third", "text": "The code of the garden gate is 4471 now.", "occurred_at": NOW - 30 * DAY},
    _closed("forgotten", "The code of the garden gate is 6666.", "third", 80, 30, deleted_at=NOW - DAY),
    _closed("expired", "The code of the garden gate is 7777.", "third", 80, 30, expires_at=NOW - DAY),
    _closed("ended", "The code of the garden gate is 8888.", "third", 80, 30, valid_to=NOW - 70 * DAY),
    _closed("foreign", "The code of the garden gate is 9999.", "third", 80, 30, owner="bob", user_id="bob"),
    {"name": "deleted", "text": "The code of the garden gate is 5555.", "document_id": "d1", "hidden": True,
     "is_latest": False, "event_kind": "document", "occurred_at": NOW - 80 * DAY},
    {"name": "wrong", "text": "The code of the bicycle shed is 1234.", "hidden": True, "is_latest": False,
     "superseded_by": _id("right"), "occurred_at": NOW - 20 * DAY},
    {"name": "right", "text": "The code of the bicycle shed is 4321.", "corrects": _id("wrong"),
     "occurred_at": NOW - 10 * DAY},
    *({"name": f"shelf {n}", "text": f"Shelf {n} of the shed holds screws of {n} mm.",
       "occurred_at": NOW - n * DAY} for n in range(20)),
]  # fmt: skip
REMOVED = {"forgotten", "expired", "ended", "foreign", "deleted"}


@pytest.fixture(params=["linked", "unlinked"])
def gate(request: pytest.FixtureRequest, corpus: Any, encoder: Encoder) -> Iterator[Past]:
    """Three codes in a row, with links newer -> older or without any."""
    if request.param == "linked":
        corpus.add([dict(row) for row in ROWS])
        number = {row["name"]: corpus.ordinals[f"acme/{row['name']}"] for row in ROWS}
        for newer, older in (("third", "second"), ("second", "first"), ("right", "wrong")):
            corpus.live.graph.relate(number[newer], number[older], "UPDATES", 0.99)
    past = served_from(corpus.root, encoder, corpus, [dict(row) for row in ROWS])
    yield past
    past.served.generation.close()


def names(answer: RecallResult) -> list[str]:
    """Names of the rows, best first."""
    by_id = {_id(row["name"]): row["name"] for row in ROWS}
    return [by_id[found.row["memory_id"]] for found in answer.rows]


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "query",
    [
        "what was the old code of the garden gate?",
        "Which code did the garden gate have before?",
        "old code of the garden gate",
        "When did the code of the garden gate change?",
        "What was the code of the garden gate originally?",
        "what was the code of the garden gate?",
    ],
)
def test_what_was_replaced_is_found(gate: Past, query: str, mode: int) -> None:
    """And nothing that was forgotten, that expired, ended, belongs to another user, or was deleted."""
    found = names(gate.ask(query, mode=mode))
    assert {"first", "second", "third"} <= set(found)
    assert REMOVED.isdisjoint(found)
    assert "ended" not in names(gate.ask(query, mode=mode, user="ann"))


@pytest.mark.parametrize(
    "query",
    [
        "what is the code of the garden gate?",
        "What's the current code of the garden gate?",
        "code of the garden gate",
        "Is the code of the garden gate still 1907?",
    ],
)
def test_a_question_for_what_holds_does_not_find_it(gate: Past, query: str) -> None:
    """As ever."""
    found = names(gate.ask(query))
    assert found[0] == "third"
    assert {"first", "second"}.isdisjoint(found)


def test_the_former_value_goes_before_the_present_one(gate: Past) -> None:
    """Where the links are known: the value before, or the first one."""
    edges = gate.served.generation.graph.edges_of(gate.served.ordinals_of([_id("third")]))
    former = names(gate.ask("what was the old code of the garden gate?"))
    first = names(gate.ask("what was the original code of the garden gate?"))
    if len(edges.targets):
        assert former[0] == "second"
        assert first[0] == "first"
        assert names(gate.ask("When did the code of the garden gate change?"))[0] == "third"
    assert names(gate.ask("Which code did the bicycle shed have before?"))[:2] in (
        ["wrong", "right"],
        ["right", "wrong"],
    )


def test_what_was_corrected_is_found_by_words_of_earlier_times_alone(gate: Past) -> None:
    """It was wrong, so a question in the past tense does not want it."""
    assert "wrong" not in names(gate.ask("what was the code of the bicycle shed?"))
    assert "wrong" in names(gate.ask("what was the old code of the bicycle shed?"))


def test_its_own_user_alone_sees_a_replaced_memory(gate: Past) -> None:
    """The filter by owner holds for replaced memories as well."""
    assert "foreign" in names(gate.ask("what was the old code of the garden gate?", user="bob"))


def test_the_packed_context_is_in_the_order_of_time(gate: Past) -> None:
    """Oldest first."""
    packed = gate.ask("When did the code of the garden gate change?", top_k=3).packed
    by_id = {_id(row["name"]): row["occurred_at"] for row in ROWS}
    times = [by_id[one] for one in packed.memory_ids]
    assert times == sorted(times)


def test_of_many_replaced_memories_the_most_probable_become_candidates(corpus: Any, encoder: Encoder) -> None:
    """And of equally probable ones the latest, whatever their place in the store."""
    most = PROFILES["helix"].rank.outdated.added
    rows = [
        *(
            _closed(f"code {n}", f"The code of gate {n} is {n}.", "present", 90 - n, 9)
            for n in range(3 * most)
        ),
        {"name": "present", "text": "Every gate opens with a card now.", "occurred_at": NOW - 9 * DAY},
    ]
    corpus.add([dict(row) for row in rows])
    number = {row["name"]: corpus.ordinals[f"acme/{row['name']}"] for row in rows}
    best = [2 * most - 1, 3 * most - 1]
    for n in range(3 * most):
        probability = 0.95 if n in best else 0.75
        corpus.live.graph.relate(number["present"], number[f"code {n}"], "UPDATES", probability)
    past = served_from(corpus.root, encoder, corpus, [dict(row) for row in rows])
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="what was the old code?")
    route = Route(past_question=PastQuestion.EARLIER, asks_for_former=True)
    context = RecallContext.of(
        query_of(request, profiles=PROFILES, clock=NOW), past.served, PROFILES["helix"]
    ).of_route(route)
    one = np.ones(1)
    present = Candidates(np.array([number["present"]]), one, one, one * 0, np.ones(1, np.uint8))

    found = with_related(
        context, present, lambda ordinals: np.zeros(len(ordinals), np.float32), past=route.past_question
    )

    latest = [n for n in reversed(range(3 * most)) if n not in best][: most - len(best)]
    assert found.ordinals.tolist() == [
        number["present"],
        *(number[f"code {n}"] for n in [*reversed(best), *latest]),
    ]
    past.served.generation.close()
