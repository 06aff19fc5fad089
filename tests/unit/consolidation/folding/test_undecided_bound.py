"""Statements that wait for a missing event are a limited number, in memory and in the generation."""

from __future__ import annotations

from helix_consolidation.ledger.undecided import Undecided
from tests.unit.consolidation.conftest import Bench, Stream
from tests.unit.consolidation.slots import ids, said

UNDECIDED = "consolidation/undecided.arrow"
MOST = 8


def waiting(bench: Bench) -> tuple[int, int]:
    """Statements that wait, and bytes of their file in the generation just published."""
    bench.publish()
    manifest = bench.shard.manifest
    assert manifest is not None
    [file] = [one for one in manifest.files if one.path == UNDECIDED]
    return len(bench.shard.state.undecided.rows), file.size


def test_a_missing_event_lets_no_more_wait_than_the_limit(slots: Bench, stream: Stream) -> None:
    """Event 1 is missing; three times as many later statements take no more room than twice as many."""
    undecided = slots.shard.state.undecided = Undecided(most=MOST)
    sizes = []
    for first in range(2, 2 + 4 * MOST, MOST):
        slots.apply(*(said(stream, number, f"p{number} 80") for number in range(first, first + MOST)))
        sizes.append(waiting(slots))
    assert [count for count, _ in sizes] == [MOST] * 4
    assert sizes[3][1] <= sizes[1][1] * 1.1
    assert undecided.decided_early == 3 * MOST
    assert slots.shard.state.applied.floor == 0


def test_beyond_the_limit_relations_are_decided_without_the_missing_event(
    slots: Bench, stream: Stream
) -> None:
    """The oldest first; when the event comes it is stored, and its statement has no relation."""
    slots.shard.state.undecided = Undecided(most=1)
    slots.apply(*(said(stream, number, f"port {number}") for number in (2, 3, 4)))
    found = slots.rows()
    named = ids(5)
    assert [found[named[number]]["superseded_by"] for number in (2, 3)] == [named[3], ""]
    slots.apply(said(stream, 1, "port 1"))
    late = slots.rows()
    assert [late[named[number]]["superseded_by"] for number in (1, 2, 3)] == ["", named[3], named[4]]
