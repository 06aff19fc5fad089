"""Events that name something by id and reach nothing are noted, so that the writer can say so."""

from __future__ import annotations

import pytest

from helix_memory.events import EraseEvent, Event, FeedbackEvent, ForgetEvent, UndoEvent
from tests.unit.consolidation.conftest import FIRST, Bench, Stream, lifecycle, row

UNKNOWN = "f" * 32


def noted(bench: Bench, stream: Stream, event: Event, *, owner: str = "") -> list[int]:
    """What is noted of an event at sequence 2, after a memory of `owner` at sequence 1."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "text", user_id=owner)]))
    bench.apply(lifecycle(event, 2))
    return bench.shard.unreached


@pytest.mark.parametrize(
    ("event", "reached"),
    [
        (UndoEvent(event_id="x", tenant_id="acme", memory_id=UNKNOWN), False),
        (UndoEvent(event_id="x", tenant_id="acme", memory_id=FIRST), True),
        (UndoEvent(event_id="x", tenant_id="acme", memory_id=FIRST, other=UNKNOWN), False),
        (UndoEvent(event_id="x", tenant_id="acme", memory_id=UNKNOWN, other=FIRST), False),
        (ForgetEvent(event_id="x", tenant_id="acme", memory_ids=[UNKNOWN]), False),
        (ForgetEvent(event_id="x", tenant_id="acme", memory_ids=[UNKNOWN, FIRST]), True),
        (ForgetEvent(event_id="x", tenant_id="acme", memory_ids=[UNKNOWN], restore=True), False),
        (EraseEvent(event_id="x", tenant_id="acme", memory_ids=[UNKNOWN]), False),
        (EraseEvent(event_id="x", tenant_id="other", memory_ids=[FIRST]), False),
        (ForgetEvent(event_id="x", tenant_id="acme", of_session="none"), True),
        (EraseEvent(event_id="x", tenant_id="acme", of_user="nobody"), True),
        (FeedbackEvent(event_id="x", tenant_id="acme", helpful=[UNKNOWN]), True),
    ],
)
def test_only_ids_of_nothing_are_noted(bench: Bench, stream: Stream, event: Event, *, reached: bool) -> None:
    """A selection by session or user may be empty: a clean-up names who left, not what is there."""
    assert noted(bench, stream, event) == ([] if reached else [2])


@pytest.mark.parametrize(("user", "reached"), [("ann", True), ("bob", False), ("", True)])
def test_out_of_reach_is_noted_like_unknown(
    bench: Bench, stream: Stream, user: str, *, reached: bool
) -> None:
    """So the dead letter does not tell whether the memory of another user exists."""
    event = ForgetEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST], user_id=user)
    assert noted(bench, stream, event, owner="ann") == ([] if reached else [2])


def test_a_deletion_of_an_unknown_document_is_noted_and_a_new_version_is_not(
    bench: Bench, stream: Stream
) -> None:
    """The first version of a document replaces nothing; a repeated deletion reaches the hidden pieces."""
    bench.apply(
        stream.memories("acme", "v1", 1, [row("acme", "v1", 1, "text", document_id="d")], document="d")
    )
    bench.apply(stream.memories("acme", "gone", 2, [], document="d", is_deletion=True))
    bench.apply(stream.memories("acme", "again", 3, [], document="d", is_deletion=True))
    assert bench.shard.unreached == []
    bench.apply(stream.memories("acme", "typo", 4, [], document="D", is_deletion=True))
    assert bench.shard.unreached == [4]


def test_what_waits_for_an_earlier_event_is_noted_once_that_is_there(bench: Bench, stream: Stream) -> None:
    """Event 1 may still bring the memory that event 2 names."""
    bench.apply(lifecycle(ForgetEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 2))
    assert bench.shard.unreached == []
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "text")]))
    assert bench.shard.unreached == []
    bench.apply(lifecycle(ForgetEvent(event_id="y", tenant_id="acme", memory_ids=[UNKNOWN]), 3))
    assert bench.shard.unreached == [3]
