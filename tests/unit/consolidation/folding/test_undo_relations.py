"""Undo: how a memory was related to others is taken back for good."""

from __future__ import annotations

import pytest

from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, row
from tests.unit.consolidation.slots import (
    current,
    edges,
    event,
    ids,
    restarted,
    said,
)

ID = ids(9)


@pytest.mark.parametrize("named", [ID[1:2], ID[2:3], ID[1:3], ID[2:0:-1]])
def test_an_undo_opens_what_was_closed_whichever_of_the_two_it_names(
    slots: Bench,
    stream: Stream,
    named: list[str],
) -> None:
    """Also after a restart; the link is gone."""
    slots.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"))
    slots.publish()
    slots.apply(lifecycle(event("undo", "u", *named), 3))
    for _ in range(2):
        assert current(slots) == {"port 80", "port 443"}
        assert edges(slots) == {}
        restarted(slots)


@pytest.mark.parametrize("named", [(ID[2],), (memory_id("acme", "e2", 1),), (ID[2], ID[1])])
def test_an_undo_opens_what_the_turn_or_a_statement_derived_from_it_had_closed(
    slots: Bench, stream: Stream, named: tuple[str, ...]
) -> None:
    """Whichever of the two it names; also after a restart."""
    turn = row("acme", "e2", 2, "host b")
    derived = row("acme", "e2", 2, "port 443", piece=1, derived_from=ID[2])
    slots.apply(said(stream, 1, "port 80"), stream.memories("acme", "e2", 2, [turn, derived]))
    slots.apply(said(stream, 3, "host c"))
    slots.publish()
    slots.apply(lifecycle(event("undo", "u", *named), 4))
    for _ in range(2):
        assert {"port 80", "host c"} <= current(slots)
        assert [kind for _, older, kind in edges(slots) if older == ID[1]] == []
        restarted(slots)


def test_an_undo_of_one_pair_keeps_the_others(slots: Bench, stream: Stream) -> None:
    """And an undo takes nothing back that is decided after it."""
    slots.apply(said(stream, 1, "port 1"), said(stream, 2, "port 2"), said(stream, 3, "port 3"))
    slots.apply(lifecycle(event("undo", "u", ID[3], ID[2]), 4))
    assert current(slots) == {"port 2", "port 3"}
    slots.apply(lifecycle(event("undo", "v", ID[2]), 5), said(stream, 6, "port 6"))
    assert current(slots) == {"port 6"}
    assert set(edges(slots)) == {(ID[6], ID[n], "UPDATES") for n in (1, 2, 3)} | {(ID[3], ID[1], "UPDATES")}


def test_an_undo_does_not_come_back_when_the_newer_memory_is_restored(
    slots: Bench,
    stream: Stream,
) -> None:
    """Forgotten and restored, the undone relation stays undone."""
    slots.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"))
    steps = [event("undo", "u", ID[2]), event("forget", "f", ID[2]), event("restore", "r", ID[2])]
    slots.apply(*(lifecycle(one, number) for number, one in enumerate(steps, 3)))
    assert current(slots) == {"port 80", "port 443"}


def test_an_undo_reaches_what_its_user_may_recall(slots: Bench, stream: Stream) -> None:
    """Bob's undo of Ann's memory changes nothing; that of another tenant neither."""
    slots.apply(said(stream, 1, "port 80", user_id="ann"), said(stream, 2, "port 443", user_id="ann"))
    bobs = event("undo", "u", ID[2]).model_copy(update={"user_id": "bob"})
    others = event("undo", "v", ID[2]).model_copy(update={"tenant_id": "other"})
    slots.apply(lifecycle(bobs, 3), lifecycle(others, 4))
    assert current(slots) == {"port 443"}
    anns = event("undo", "w", ID[2]).model_copy(update={"user_id": "ann"})
    slots.apply(lifecycle(anns, 5))
    assert current(slots) == {"port 80", "port 443"}
