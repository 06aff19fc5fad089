"""An undo event takes corrections back: the version before them holds again."""

from __future__ import annotations

from random import Random

import pytest

from helix_memory.events import UndoEvent
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, row
from tests.unit.consolidation.folded import fold_to_one_state_in_any_order
from tests.unit.consolidation.folding.test_undo import NEW, NEWEST, OLD, chain, event_of, visible
from tests.unit.consolidation.histories import applied


def undo(memory: str, other: str = "", user: str = "") -> UndoEvent:
    """An undo of a memory, or of two versions."""
    return UndoEvent(event_id="undo", tenant_id="acme", user_id=user, memory_id=memory, other=other)


@pytest.mark.parametrize("named", [(NEW,), (OLD,), (OLD, NEW), (NEW, OLD)])
def test_the_version_before_a_correction_holds_again(
    bench: Bench, stream: Stream, named: tuple[str, ...]
) -> None:
    """Also after a restart, until the correction is restored."""
    bench.apply(*chain(stream)[:2])
    assert visible(bench.rows()) == {"e2": ""}
    assert bench.apply(lifecycle(undo(*named), 3)).dead == []
    assert visible(bench.rows()) == {"e1": ""}
    assert bench.rows()[OLD]["is_latest"]
    bench.publish()
    reopened = bench.reopened()
    assert visible(reopened.rows()) == {"e1": ""}
    reopened.apply(lifecycle(event_of("restore", NEW, name="r"), 4))
    assert visible(reopened.rows()) == {"e2": ""}
    reopened.shard.close()


@pytest.mark.parametrize("last_corrects", [NEW, pytest.param(OLD, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("named", "current"),
    [
        ((NEWEST,), "e2"),
        ((NEW,), "e3"),
        ((OLD,), "e1"),
        ((NEW, NEWEST), "e2"),
        ((OLD, NEWEST), "e2"),
        ((OLD, NEW), "e3"),
    ],
)
def test_of_a_chain_only_what_is_named_is_taken_back_in_every_order(
    stream: Stream, last_corrects: str, named: tuple[str, ...], current: str
) -> None:
    """The first version takes back all; a correction after the undo is not reached."""
    before = [*chain(stream, last_corrects=last_corrects), lifecycle(undo(*named), 4)]
    after = stream.memories("acme", "e5", 5, [row("acme", "e5", 5, "e5", corrects=OLD)])
    for messages, holds in ((before, current), ([*before, after], "e5")):
        fold_to_one_state_in_any_order(messages)
        found = applied(messages[::-1], Random(1))
        if holds == current or named == (OLD,):
            assert list(visible(found["rows"])) == [holds]
    assert applied(messages, Random(1)) == found


def test_all_pieces_of_a_correction_are_taken_back(bench: Bench, stream: Stream) -> None:
    """The undo names one of two."""
    pieces = [row("acme", "e2", 2, f"e2 {piece}", corrects=OLD, piece=piece) for piece in (0, 1)]
    old = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "e1")])
    bench.apply(old, stream.memories("acme", "e2", 2, pieces))
    assert set(visible(bench.rows())) == {"e2 0", "e2 1"}
    bench.apply(lifecycle(undo(memory_id("acme", "e2", 1)), 3))
    assert visible(bench.rows()) == {"e1": ""}


@pytest.mark.parametrize("named", [(NEW,), (OLD,), (OLD, NEW)])
def test_a_correction_out_of_reach_stays(bench: Bench, stream: Stream, named: tuple[str, ...]) -> None:
    """Bob takes nothing back of what Ann alone may recall."""
    corrects = {"e1": "", "e2": OLD}
    for number, (event, old) in enumerate(corrects.items(), 1):
        text = row("acme", event, number, event, corrects=old, user_id="ann")
        bench.apply(stream.memories("acme", event, number, [text]))
    assert visible(bench.rows()) == {"e2": ""}
    bench.apply(lifecycle(undo(named[0], "".join(named[1:]), "bob"), 3))
    assert visible(bench.rows()) == {"e2": ""}
