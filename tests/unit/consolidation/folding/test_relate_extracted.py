"""Extracted statements take part in decisions, whenever they arrive."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from nats.aio.msg import Msg

from helix_memory.events import EraseEvent
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.relations.relation_files import RelationReader
from helix_shared.identity import memory_id, statement_id
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, statement
from tests.unit.consolidation.slots import TENANT, edges, event, ids, restarted, said

_, FIRST, SECOND, THIRD = ids(3)
OLD, NEW = statement_id(FIRST, 0), statement_id(SECOND, 0)


def extracted(stream: Stream, sequence: int, text: str) -> Msg:
    """One statement of the turn of an event."""
    name = f"e{sequence}"
    rows = [statement(TENANT, name, sequence, text, window=sequence) | {"links": []}]
    return stream.statements(TENANT, name, sequence, rows)


def related(bench: Bench) -> dict[tuple[str, str, str], float]:
    """Edges by a decision; a statement also has one to its turn."""
    return {pair: weight for pair, weight in edges(bench).items() if pair[2] != "DERIVES"}


@pytest.fixture
def messages(stream: Stream) -> list[Msg]:
    """Two turns about the port, the later with another value, and a statement of each."""
    return [
        said(stream, 1, "port 443"),
        said(stream, 2, "port 8080"),
        extracted(stream, 1, "port 443 of the gateway"),
        extracted(stream, 2, "port 8080 of the gateway"),
    ]


@pytest.fixture
def slots(bench: Bench) -> Bench:
    """A shard that decides by slots."""
    restarted(bench)
    return bench


EXPECTED = {(new, old, "UPDATES"): 0.99 for new in (SECOND, NEW) for old in (FIRST, OLD)}
"""Each later text replaces each earlier one."""


def test_a_statement_relates_as_a_new_one_and_as_a_candidate(slots: Bench, messages: list[Msg]) -> None:
    """It replaces what its turn replaces, and is replaced by what replaces its turn."""
    slots.apply(*messages)
    assert related(slots) == EXPECTED
    rows = slots.rows()
    assert {rows[name]["hidden"] for name in (FIRST, OLD)} == {True}
    assert {rows[name]["hidden"] for name in (SECOND, NEW)} == {False}


@pytest.mark.parametrize("order", list(permutations(range(4)))[::3])
def test_it_makes_no_difference_when_a_statement_arrives(
    slots: Bench, messages: list[Msg], order: tuple[int, ...]
) -> None:
    """One message a batch; what comes too early is delivered again."""
    waiting = [messages[place] for place in order]
    while waiting:
        outcome = slots.apply(waiting.pop(0))
        waiting += [message for message, _ in outcome.postponed]
    assert related(slots) == EXPECTED


def test_another_answer_takes_the_relations_of_the_former_back(slots: Bench, messages: list[Msg]) -> None:
    """Before and after a restart: neither the graph nor the history has them."""
    slots.apply(*messages)
    slots.publish()
    again = extracted(Stream(last=9), 2, "host alpha")
    slots.apply(again)
    left = {pair: weight for pair, weight in EXPECTED.items() if NEW not in pair}
    assert related(slots) == left
    restarted(slots)
    assert related(slots) == left
    ordinals = {r["memory_id"]: r["ordinal"] for r in slots.rows().values()}
    history = RelationReader.open(folder_of(slots.folder, slots.publish().generation))
    assert history.of(np.array([ordinals[NEW]])) == []
    assert [relation.newer for relation, _ in history.of(np.array([ordinals[OLD]]))] == [ordinals[SECOND]]


def test_an_erased_turn_takes_its_statement_and_their_relations(slots: Bench, messages: list[Msg]) -> None:
    """What they had closed holds again."""
    slots.apply(*messages)
    gone = EraseEvent(event_id="x3", tenant_id=TENANT, memory_ids=[SECOND])
    slots.apply(lifecycle(gone, 3))
    assert related(slots) == {}
    assert {r["memory_id"]: r["hidden"] for r in slots.rows().values()} == {FIRST: False, OLD: False}


@pytest.mark.parametrize("named", [SECOND, NEW])
def test_an_undo_of_a_turn_or_its_statement_undoes_both(
    slots: Bench, messages: list[Msg], named: str
) -> None:
    """Also after a restart."""
    slots.apply(*messages)
    slots.apply(lifecycle(event("undo", "u3", named), 3))
    assert related(slots) == {}
    assert {r["hidden"] for r in slots.rows().values()} == {False}
    slots.publish()
    restarted(slots)
    assert related(slots) == {}


def test_another_owner_is_not_compared(slots: Bench, stream: Stream) -> None:
    """A statement has the owner, the audience and at most the class of its turn."""
    slots.apply(
        said(stream, 1, "port 443", user_id="ann"),
        extracted(stream, 1, "port 443 of the gateway"),
        said(stream, 2, "port 8080", user_id="bob"),
        extracted(stream, 2, "port 8080 of the gateway"),
    )
    assert related(slots) == {}


def test_a_statement_that_its_turn_does_not_share_closes_nothing(slots: Bench, stream: Stream) -> None:
    """The model says more than the turn: its words alone are no reason."""
    slots.apply(
        said(stream, 1, "port 443"),
        said(stream, 2, "host alpha"),
        extracted(stream, 2, "port 8080"),
    )
    assert related(slots) == {}
    assert memory_id(TENANT, "e3", 0) == THIRD
