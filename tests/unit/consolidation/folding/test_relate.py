"""Decided relations: what they close, and what undoes them."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nats.aio.msg import Msg

from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.relations.relation_files import RelationReader
from helix_shared.artifacts.signals.columns import raised_confidence
from tests.examples import examples
from tests.unit.consolidation.conftest import NOON, Bench, Stream, lifecycle, row
from tests.unit.consolidation.folded import folded
from tests.unit.consolidation.histories import applied, in_log_order, shuffled
from tests.unit.consolidation.slots import (
    TENANT,
    current,
    decide_by_slot,
    edges,
    event,
    ids,
    restarted,
    said,
)

ID = ids(9)


def test_a_sure_update_closes_the_older_memory(slots: Bench, stream: Stream) -> None:
    """It is kept as history: superseded, not the latest, valid until the newer one occurred."""
    slots.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"))
    old, new = slots.rows()[ID[1]], slots.rows()[ID[2]]
    assert (old["superseded_by"], old["is_latest"], old["hidden"]) == (ID[2], False, True)
    assert old["closed_at"] == new["occurred_at"]
    assert edges(slots) == {(ID[2], ID[1], "UPDATES"): 0.99}
    generation = Generation.open(slots.folder, slots.shard.manifest.generation)  # type: ignore[union-attr]
    ends = generation.signals.valid_to[[old["ordinal"]]].tolist()
    assert datetime.fromtimestamp(ends[0] / 1e6, UTC) == new["occurred_at"]
    generation.close()


@pytest.mark.parametrize("kind", ["forget", "erase"])
def test_without_the_newer_memory_the_older_one_is_current_again(
    slots: Bench, stream: Stream, kind: str
) -> None:
    """Its link goes as well; also when a restart lies between."""
    slots.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"))
    slots.publish()
    restarted(slots)
    slots.apply(lifecycle(event(kind, "x", ID[2]), 3))
    assert current(slots) == {"port 80"}
    assert edges(slots) == {}
    if kind == "forget":
        slots.apply(lifecycle(event("restore", "y", ID[2]), 4))
        assert current(slots) == {"port 443"}
        assert edges(slots) == {(ID[2], ID[1], "UPDATES"): 0.99}


def test_a_generation_says_which_relations_do_not_count(slots: Bench, stream: Stream) -> None:
    """An undone one, for readers that would draw the same conclusion themselves."""
    slots.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"))
    slots.apply(lifecycle(event("undo", "x", ID[2]), 3))
    assert current(slots) == {"port 80", "port 443"}
    folder = slots.folder / "generations" / f"{slots.publish().generation:012d}"
    old, new = _ordinals(slots, ID[1], ID[2]).tolist()
    assert RelationReader.open(folder).void_pairs == {(new, old)}


def test_a_corrected_memory_closes_nothing_any_more(slots: Bench, stream: Stream) -> None:
    """The correction is a statement of its own: about another slot it closes nothing."""
    correction = stream.memories(TENANT, "e3", 3, [row(TENANT, "e3", 3, "host 443", corrects=ID[2])])
    slots.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"), correction)
    assert current(slots) == {"port 80", "host 443"}


def test_versions_of_one_memory_are_not_related_as_if_they_were_several(slots: Bench, stream: Stream) -> None:
    """The correction of a correction fills the slot of the first version, too: the corrections say it all."""
    slots.apply(
        said(stream, 1, "port 80"),
        stream.memories(TENANT, "e2", 2, [row(TENANT, "e2", 2, "port 443", corrects=ID[1])]),
        stream.memories(TENANT, "e3", 3, [row(TENANT, "e3", 3, "port 8080", corrects=ID[2])]),
    )
    assert current(slots) == {"port 8080"}
    assert edges(slots) == {(ID[2], ID[1], "UPDATES"): 1.0, (ID[3], ID[2], "UPDATES"): 1.0}
    assert len(slots.shard.state.relations.to([0, 1, 2])) == 0


def test_of_two_that_close_a_memory_the_first_counts(slots: Bench, stream: Stream) -> None:
    """When it is forgotten the other one does."""
    slots.apply(*(said(stream, n, f"port {n}") for n in (1, 2, 3)))
    assert slots.rows()[ID[1]]["superseded_by"] == ID[2]
    slots.apply(lifecycle(event("forget", "x", ID[2]), 4))
    assert slots.rows()[ID[1]]["superseded_by"] == ID[3]
    assert current(slots) == {"port 3"}


def test_a_decision_taken_back_makes_the_older_value_current_again(slots: Bench, stream: Stream) -> None:
    """Redux, Zustand, back to Redux; and Zustand holds when that is forgotten."""
    slots.apply(
        *(said(stream, n, t) for n, t in enumerate(("state redux", "state zustand", "state redux"), 1))
    )
    assert [r["hidden"] for r in slots.rows().values()] == [False, True, False]
    found = edges(slots)
    assert (ID[2], ID[1], "UPDATES") not in found
    assert found[ID[3], ID[2], "UPDATES"] == 0.99
    slots.apply(lifecycle(event("forget", "x", ID[3]), 4))
    assert current(slots) == {"state zustand"}


def test_what_was_taken_back_as_a_joke_is_closed_and_replaces_nothing(slots: Bench, stream: Stream) -> None:
    """The value before holds again, as if the joke had not been said; after a restart, too."""
    slots.apply(*(said(stream, n, t) for n, t in enumerate(("port 80", "port 443", "jk now"), 1)))
    for _ in range(2):
        assert current(slots) == {"port 80", "jk now"}
        assert slots.rows()[ID[2]]["closed_at"] is not None
        assert edges(slots) == {(ID[3], ID[2], "RELATES"): 1.0}
        restarted(slots)


def test_what_was_undone_replaces_nothing_also_where_it_is_not_closed(slots: Bench, stream: Stream) -> None:
    """What it had closed holds again; after a restart, too, until the undoing turn is forgotten."""
    slots.apply(*(said(stream, n, t) for n, t in enumerate(("port 80", "port 443", "undo that"), 1)))
    for _ in range(2):
        assert current(slots) == {"port 80", "port 443", "undo that"}
        assert edges(slots) == {(ID[3], ID[2], "UPDATES"): pytest.approx(0.6)}
        slots.publish()
        restarted(slots)
    slots.apply(lifecycle(event("forget", "x", ID[3]), 4))
    assert current(slots) == {"port 443"}


@pytest.mark.parametrize("kind", ["forget", "erase", "undo"])
def test_taking_a_joke_back_can_be_taken_back(slots: Bench, stream: Stream, kind: str) -> None:
    """The statement counts again, and closes what it had closed."""
    slots.apply(*(said(stream, n, t) for n, t in enumerate(("port 80", "port 443", "jk now"), 1)))
    slots.apply(lifecycle(event(kind, "x", ID[3]), 4))
    assert current(slots) - {"jk now"} == {"port 443"}


def test_a_repetition_raises_the_confidence_of_the_first(slots: Bench, stream: Stream) -> None:
    """Within bounds, and no longer than it is there."""
    slots.apply(*(said(stream, n, "port 80") for n in (1, 2, 3)))
    assert slots.rows()[ID[1]]["restated"] == 2
    slots.apply(lifecycle(event("forget", "x", ID[3]), 4))
    assert slots.rows()[ID[1]]["restated"] == 1
    raised = raised_confidence(np.full(4, 0.5), np.array([0, 1, 4, 400])).tolist()
    assert raised[0] == 0.5 < raised[1] < raised[2] == raised[3] < 0.75


@pytest.mark.parametrize("other", [{"user_id": "bob"}, {"acl": ["hr"]}, {"source_class": "tool"}])
def test_owners_audiences_and_source_classes_never_touch_each_other(
    slots: Bench, stream: Stream, other: dict[str, Any]
) -> None:
    """What a tool or another user says closes nothing."""
    fields = {"user_id": "ann"} | other
    slots.apply(said(stream, 1, "port 80", user_id="ann"), said(stream, 2, "port 443", **fields))
    assert current(slots) == {"port 80", "port 443"}


def test_what_the_agent_confirmed_gives_way_to_what_the_user_says_later(slots: Bench, stream: Stream) -> None:
    """Their turns are one conversation."""
    agent, user = (
        {"role": role, "source_class": source} for role, source in (("assistant", "agent"), ("user", "user"))
    )
    slots.apply(said(stream, 1, "port 80", **agent), said(stream, 2, "port 443", **user))
    assert current(slots) == {"port 443"}


def test_a_decision_waits_for_earlier_events(slots: Bench, stream: Stream) -> None:
    """Of what comes late, too; a later revision of a row changes no decision."""
    first, second, third = (said(stream, n, f"port {n}") for n in (1, 2, 3))
    revised = row(TENANT, "e3", 3, "host 3", revision_sequence=4)
    slots.apply(third, stream.memories(TENANT, "e4", 4, [revised]))
    slots.publish()
    assert current(slots) == {"host 3"}
    slots.apply(second, first)
    rows = slots.rows()
    assert [rows[memory]["superseded_by"] for memory in ID[1:4]] == [ID[2], ID[3], ""]


def test_statements_and_relations_survive_a_restart_and_an_erasure_removes_them(
    slots: Bench, stream: Stream
) -> None:
    """The text of an erased statement is in no file of the next generation."""
    slots.apply(said(stream, 1, "port eighty"), said(stream, 2, "host one"))
    slots.publish()
    slots.apply(lifecycle(event("erase", "x", ID[1]), 3))
    number = slots.publish().generation
    folder = slots.folder / "generations" / f"{number:012d}" / "consolidation"
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert any(b"host one" in body for body in files)
    assert not any(b"port eighty" in body for body in files)
    restarted(slots)
    slots.apply(said(stream, 4, "host two"), said(stream, 5, "port new"))
    assert current(slots) == {"host two", "port new"}
    folder = slots.folder / "generations" / f"{slots.publish().generation:012d}"
    [(relation, counts)] = RelationReader.open(folder).of(_ordinals(slots, ID[2]))
    assert (relation.kind, relation.closes, relation.evidence) == ("UPDATES", True, {"slot": 1.0})
    assert counts


def _ordinals(bench: Bench, *memories: str) -> Any:
    return np.array([bench.rows()[memory]["ordinal"] for memory in memories])


def history(seed: int) -> list[Msg]:
    """Statements about few slots by several users, with corrections, forgets, restores and erasures."""
    random, stream, messages = Random(seed), Stream(), []
    known = ids(24)
    for number in range(1, random.randrange(8, 24)):
        kind = random.choice(("say",) * 6 + ("correct", "forget", "restore", "erase"))
        if kind in ("forget", "restore", "erase"):
            messages.append(
                lifecycle(event(kind, f"x{number}", random.choice(known[1 : number + 1])), number)
            )
            continue
        text = f"{random.choice(('port', 'host'))} {random.choice('abc')}"
        fields = {"occurred_at": NOON} if random.random() < 0.2 else {}
        corrects = random.choice(known[:number]) if kind == "correct" else ""
        messages.append(said(stream, number, text, corrects=corrects, **fields))
        if random.random() < 0.3:
            revised = row(TENANT, f"e{number}", number, f"host {number}", corrects=corrects)
            messages.append(stream.memories(TENANT, f"e{number}", number, [revised]))
    return messages


@pytest.mark.long
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_order_of_arrival_leads_to_the_same_links(seed: int) -> None:
    """With repeats, batches of any size and restarts in between, in real stores."""
    random, messages = Random(seed), history(seed)
    expected = applied(in_log_order(messages), Random(0), decide=decide_by_slot)
    found = applied(shuffled(messages, random), random, restarts=0.2, decide=decide_by_slot)
    assert found == expected


@settings(max_examples=examples(12), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_many_histories_fold_to_the_same_links(seed: int) -> None:
    """More orders of arrival, without the stores."""
    random, messages = Random(seed), history(seed)
    expected = folded(in_log_order(messages), Random(0), decide=decide_by_slot)
    assert folded(shuffled(messages, random), random, decide=decide_by_slot) == expected
