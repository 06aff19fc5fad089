"""A derived statement and its verbatim memory share their fate: who names one reaches both."""

from __future__ import annotations

from pathlib import Path

import pytest
from nats.aio.msg import Msg

from helix_consolidation.stores.shard import Shard
from helix_memory.events import EraseEvent, Event, ForgetEvent, UndoEvent
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import FIRST, SECOND, Bench, Stream, lifecycle, row
from tests.unit.consolidation.slots import decide_by_slot, said

STATEMENT = memory_id("acme", "e1", 1)
CORRECTION = memory_id("acme", "e3", 0)


def turn(stream: Stream) -> Msg:
    """A short answer, and the statement it makes with its question."""
    rows = [
        row("acme", "e1", 1, "on Friday at noon"),
        row("acme", "e1", 1, "When is it? on Friday at noon", piece=1, derived_from=FIRST),
    ]
    return stream.memories("acme", "e1", 1, rows)


def visible(bench: Bench) -> set[str]:
    """Ids of the visible memories."""
    return {name for name, stored in bench.rows().items() if not stored["hidden"]}


def event_of(kind: str, name: str, event: str = "u") -> Event:
    """A forget, erase or restore of one memory."""
    if kind == "erase":
        return EraseEvent(event_id=event, tenant_id="acme", memory_ids=[name])
    return ForgetEvent(event_id=event, tenant_id="acme", memory_ids=[name], restore=kind == "restore")


@pytest.mark.parametrize("name", [FIRST, STATEMENT])
def test_forgetting_one_hides_both_and_restoring_it_shows_both(
    bench: Bench, stream: Stream, name: str
) -> None:
    """Also after a restart."""
    bench.apply(turn(stream), lifecycle(event_of("forget", name), 2))
    assert visible(bench) == set()
    bench.publish()
    reopened = bench.reopened()
    reopened.apply(lifecycle(event_of("restore", name, "r"), 3))
    assert visible(reopened) == {FIRST, STATEMENT}


@pytest.mark.parametrize("name", [FIRST, STATEMENT])
def test_erasing_one_removes_both_for_good(bench: Bench, stream: Stream, name: str) -> None:
    """A late copy of the message brings neither back."""
    sent = turn(stream)
    bench.apply(sent, lifecycle(event_of("erase", name), 2))
    bench.publish()
    assert bench.rows() == {}
    bench.apply(turn(stream))
    assert bench.rows() == {}


@pytest.mark.parametrize("name", [FIRST, STATEMENT])
def test_correcting_one_replaces_both(bench: Bench, stream: Stream, name: str) -> None:
    """Undoing the correction brings both back."""
    corrected = stream.memories("acme", "e3", 2, [row("acme", "e3", 2, "on Monday", corrects=name)])
    bench.apply(turn(stream))
    bench.apply(corrected)
    assert visible(bench) == {CORRECTION}
    assert {bench.rows()[one]["superseded_by"] for one in (FIRST, STATEMENT)} == {CORRECTION}
    bench.publish()
    reopened = bench.reopened()
    reopened.apply(lifecycle(UndoEvent(event_id="u", tenant_id="acme", memory_id=CORRECTION), 3))
    assert visible(reopened) == {FIRST, STATEMENT}


def test_a_statement_is_linked_to_its_source_and_is_no_duplicate_of_it(bench: Bench, stream: Stream) -> None:
    """Nearly the same words."""
    said = "the plumber comes on Friday at noon with a new valve for the boiler in the cellar"
    rows = [
        row("acme", "e1", 1, said),
        row("acme", "e1", 1, f"When? {said}", piece=1, derived_from=FIRST),
    ]
    bench.apply(stream.memories("acme", "e1", 1, rows))
    assert {stored["duplicate_of"] for stored in bench.rows().values()} == {""}
    bench.publish()
    reopened = bench.reopened()
    assert {stored["derived_from"] for stored in reopened.rows().values()} == {"", FIRST}


def test_what_closes_a_statement_closes_its_turn(tmp_path: Path, stream: Stream) -> None:
    """The words of the turn name no port, the statement does; forgetting the newer one brings both back."""
    bench = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64, decide=decide_by_slot))
    rows = [
        row("acme", "e1", 1, "eighty I think"),
        row("acme", "e1", 1, "port 80", piece=1, derived_from=FIRST),
    ]
    bench.apply(stream.memories("acme", "e1", 1, rows), said(stream, 2, "port 443"))
    assert visible(bench) == {SECOND}
    assert {bench.rows()[one]["superseded_by"] for one in (FIRST, STATEMENT)} == {SECOND}
    bench.apply(lifecycle(event_of("forget", SECOND), 3))
    assert visible(bench) == {FIRST, STATEMENT}
    bench.shard.close()
