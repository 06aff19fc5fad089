"""A correction that is undone does not count: the version before it holds again. An erasure takes both."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from nats.aio.msg import Msg

from helix_consolidation.ledger.versions import Version, superseded
from helix_memory.events import EraseEvent, Event, ForgetEvent, UndoEvent
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, row
from tests.unit.consolidation.folded import fold_to_one_state_in_any_order
from tests.unit.consolidation.histories import applied

OLD, NEW, NEWEST = (memory_id("acme", event, 0) for event in ("e1", "e2", "e3"))


def chain(stream: Stream, *, last_corrects: str = NEW) -> list[Msg]:
    """A memory, its correction, and a correction of that one (or of another)."""
    corrected = {"e1": "", "e2": OLD, "e3": last_corrects}
    return [
        stream.memories("acme", event, number, [row("acme", event, number, event, corrects=corrects)])
        for number, (event, corrects) in enumerate(corrected.items(), 1)
    ]


def event_of(kind: str, *ids: str, name: str = "u") -> Event:
    """A forget, erase or restore of memories, or an undo of one."""
    if kind == "undo":
        return UndoEvent(event_id=name, tenant_id="acme", memory_id=ids[0])
    if kind == "erase":
        return EraseEvent(event_id=name, tenant_id="acme", memory_ids=list(ids))
    return ForgetEvent(event_id=name, tenant_id="acme", memory_ids=list(ids), restore=kind == "restore")


def visible(rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Text of the visible memories -> id of the successor."""
    return {r["text"]: r["superseded_by"] for r in rows.values() if not r["hidden"]}


def test_undoing_a_correction_restores_the_version_before(bench: Bench, stream: Stream) -> None:
    """Not superseded, not hidden, the latest again."""
    bench.apply(*chain(stream)[:2])
    assert visible(bench.rows()) == {"e2": ""}
    bench.apply(lifecycle(event_of("undo", NEW), 3))
    assert visible(bench.rows()) == {"e1": ""}
    assert bench.rows()[OLD]["is_latest"]


def test_restoring_the_correction_supersedes_the_version_before_again(bench: Bench, stream: Stream) -> None:
    """Undoing a correction can be taken back."""
    bench.apply(*chain(stream)[:2], lifecycle(event_of("undo", NEW), 3))
    bench.apply(lifecycle(event_of("restore", NEW, name="r"), 4))
    assert visible(bench.rows()) == {"e2": ""}
    assert bench.rows()[OLD]["superseded_by"] == NEW


@pytest.mark.parametrize("last_corrects", [NEW, OLD])
@pytest.mark.parametrize(
    ("erased", "left"), [((OLD,), {"e2", "e3"}), ((NEW,), {"e3"}), ((NEWEST,), set()), ((OLD, NEWEST), set())]
)
def test_an_erasure_of_a_version_takes_those_that_it_replaced(
    bench: Bench, stream: Stream, last_corrects: str, erased: tuple[str, ...], left: set[str]
) -> None:
    """No outdated version holds again, and what was said later stays. Also after restarts."""
    bench.apply(*chain(stream, last_corrects=last_corrects))
    bench.publish()
    for number, memory in enumerate(erased):
        bench.apply(lifecycle(event_of("erase", memory, name=f"u{number}"), 4 + number))
        bench.publish()
    reopened = bench.reopened()
    assert {row["text"] for row in reopened.rows().values()} == left
    assert visible(reopened.rows()) == ({"e3": ""} if left else {})
    if left:
        # a later correction of the same family can be erased as well
        reopened.apply(
            stream.memories("acme", "e9", 9, [row("acme", "e9", 9, "e9", corrects=NEWEST)]),
            *(stream.memories("acme", f"n{n}", n, []) for n in range(4 + len(erased), 9)),
        )
        assert visible(reopened.rows()) == {"e9": ""}
        reopened.apply(lifecycle(event_of("erase", memory_id("acme", "e9", 0), name="last"), 10))
        assert reopened.rows() == {}
    reopened.shard.close()


def test_an_erasure_hides_the_versions_before_while_an_earlier_event_is_missing(
    bench: Bench, stream: Stream
) -> None:
    """It is carried out later; the outdated version does not hold until then."""
    bench.apply(*chain(stream)[:2], lifecycle(event_of("erase", NEW), 4))
    assert bench.shard.state.pending.actions
    assert visible(bench.rows()) == {}
    bench.apply(stream.memories("acme", "e3", 3, []))
    assert bench.rows() == {}


@pytest.mark.parametrize("kind", ["undo", "erase"])
@pytest.mark.parametrize("undone", [NEW, NEWEST])
def test_every_order_of_arrival_undoes_the_same(stream: Stream, kind: str, undone: str) -> None:
    """The state does not depend on the order of arrival."""
    messages = [*chain(stream), lifecycle(event_of(kind, undone), 4)]
    fold_to_one_state_in_any_order(messages)
    states = [applied(order, Random(1)) for order in (messages, messages[::-1])]
    assert states[0] == states[1]
    before = ["e2"] if kind == "undo" else []
    assert list(visible(states[0]["rows"])) == (["e3"] if undone == NEW else before)


def test_pieces_of_one_correction_do_not_supersede_each_other() -> None:
    """Two pieces of one event correct memory 1; the first is its successor, both are current."""
    family = [
        Version(1, 0, 1, 0, "old", is_active=True),
        Version(2, 1, 5, 0, "first", is_active=True),
        Version(3, 1, 5, 1, "second", is_active=True),
    ]
    assert superseded(family) == {1: "first"}
    undone = [family[0], Version(2, 1, 5, 0, "first", is_active=False), family[2]]
    assert superseded(undone) == {1: "second"}


def test_a_later_correction_of_the_same_memory_supersedes_an_earlier_one() -> None:
    """And the earlier one is current again when the later is undone."""
    early, late = Version(2, 1, 5, 0, "early", is_active=True), Version(3, 1, 6, 0, "late", is_active=True)
    old = Version(1, 0, 1, 0, "old", is_active=True)
    assert superseded([old, early, late]) == {1: "late", 2: "late"}
    assert superseded([old, early, Version(3, 1, 6, 0, "late", is_active=False)]) == {1: "early"}


def test_a_chain_of_thousands_needs_no_recursion() -> None:
    """Each corrects the one before; all but the last are superseded by the next active one."""
    family = [Version(n, n - 1, n, 0, str(n), is_active=n != 2) for n in range(1, 5_001)]
    found = superseded(family)
    assert len(found) == 4_999
    assert (found[1], found[3]) == ("3", "4")
