"""Comparing two generations, on real stores: what is the same, and what one changed value is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from helix_cli.rebuilding.parity.compare import compare
from helix_cli.rebuilding.parity.result import Parity
from helix_consolidation.stores.erased_before import erased_spans
from helix_memory import events
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import FIRST, SECOND, Bench, Stream, lifecycle, row

TEXTS = {
    "e1": "Mira picked Postgres for the ledger",
    "e2": "the boiler is broken",
    "e3": "the van is sold",
}


def _made(bench: Bench, order: tuple[str, ...] = ("e1", "e2", "e3")) -> Bench:
    """The same three memories with a link each; the order of arrival decides their ordinals."""
    stream = Stream()
    for event in order:
        number = int(event[1])
        bench.apply(stream.memories("acme", event, number, [row("acme", event, number, TEXTS[event])]))
        bench.apply(stream.links("acme", event, number, ["Postgres"]))
    return bench


def _compared(before: Bench, after: Bench, **fields: Any) -> Parity:
    sides = [Generation.open(one.folder, one.publish().generation) for one in (before, after)]
    parity = Parity(1, up_to=3, **fields)
    compare(sides[0], sides[1], parity)
    for one in sides:
        one.close()
    return parity


def test_the_same_memories_with_other_ordinals_are_the_same(make_bench: Callable[[], Bench]) -> None:
    """Memories are joined by id and links named by content, so the places in the stores do not matter."""
    parity = _compared(_made(make_bench()), _made(make_bench(), ("e3", "e1", "e2")))
    assert parity.is_total, parity
    assert {section.compared for section in parity.sections} == {3}


@pytest.mark.parametrize(
    ("column", "value", "section"),
    [
        ("text", "Mira picked SQLite for the ledger", "texts"),
        ("restated", 7, "versions"),
        ("salience", 0.125, "other columns"),
        ("deleted_by", 2, "hidden"),
        ("vector", [1.0] + [0.0] * 7, "vectors"),
    ],
)
def test_one_changed_value_is_listed_by_id_and_refuses(
    make_bench: Callable[[], Bench], column: str, value: Any, section: str
) -> None:
    """Control: exactly the section of that column differs, in one memory."""
    before, after = _made(make_bench()), _made(make_bench())
    live = after.shard.live
    assert live is not None
    rows = live.vectors.scan(live.vectors.schema.names)
    changed = [one | ({column: value} if one["memory_id"] == FIRST else {}) for one in rows.to_pylist()]
    live.vectors.upsert(pa.Table.from_pylist(changed, schema=rows.schema))
    parity = _compared(before, after)
    different = [one for one in parity.sections if one.different]
    assert [(one.name, one.different) for one in different] == [(section, 1)]
    assert [(one.memory_id, one.field) for one in different[0].examples] == [(FIRST, column)]
    assert parity.refuses
    if section == "vectors":
        assert "cosine" in different[0].note


def test_a_link_more_and_a_memory_less_are_named(make_bench: Callable[[], Bench], stream: Stream) -> None:
    """The digest of the graph differs with one link; a missing id refuses whatever a model said."""
    before, after = _made(make_bench()), _made(make_bench())
    after.apply(Stream(last=50).links("acme", "e2", 2, ["Postgres", "Boiler"]))
    parity = _compared(before, after)
    links = next(section for section in parity.sections if section.different)
    assert (links.name, links.different, links.examples[0].memory_id) == ("links", 1, SECOND)

    fewer = make_bench()
    fewer.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, TEXTS["e1"])]))
    parity = _compared(before, fewer, reasons=["verdicts: of a language model, which is not asked again"])
    assert parity.missing == 2
    assert parity.refuses
    parity.changed = ["memories: made with 11, here is 12"]
    assert not parity.refuses


def test_events_on_their_way_are_left_out(make_bench: Callable[[], Bench]) -> None:
    """An event of which the older generation is not complete decides nothing."""
    before, after = make_bench(), _made(make_bench())
    stream = Stream()
    for event in ("e1", "e2"):
        number = int(event[1])
        before.apply(stream.memories("acme", event, number, [row("acme", event, number, TEXTS[event])]))
        if event == "e1":
            before.apply(stream.links("acme", event, number, ["Postgres"]))
    sides = [Generation.open(one.folder, one.publish().generation) for one in (before, after)]
    parity = Parity(1, up_to=2)
    compare(sides[0], sides[1], parity, unfinished={2})
    assert [section.compared for section in parity.sections if section.name == "memories"] == [1]
    assert parity.is_total, [section for section in parity.sections if section.different]
    for one in sides:
        one.close()


def test_a_manifest_states_what_made_its_memories(bench: Bench) -> None:
    """Versions of workers come with their messages; those of the writer are its own; a restart keeps them."""
    stream = Stream()
    message = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, TEXTS["e1"])])
    message.headers = {**(message.headers or {}), "Helix-Made-With": "12 piece_tokens=242"}
    bench.apply(message)
    manifest = bench.publish()
    assert manifest.made_with["memories"] == ("12 piece_tokens=242",)
    assert len(manifest.made_with["consolidation"]) == 1
    again = bench.reopened()
    again.apply(stream.memories("acme", "e2", 2, [row("acme", "e2", 2, TEXTS["e2"])]))
    assert again.publish().made_with["memories"] == ("12 piece_tokens=242", "not stated")
    again.shard.close()


VANS = {2: "The blue van is sold.", 3: "The red van is sold.", 5: "The green van is sold."}


def _decided(bench: Bench, *, erased: bool = False) -> Bench:
    """Three statements that are related, the first two beside a fourth one, or after it was erased."""
    stream = Stream()

    def said(number: int, text: str) -> None:
        rows = [row("acme", f"e{number}", number, text, vector=[1.0, 0.1 * number] + [0.0] * 6)]
        bench.apply(stream.memories("acme", f"e{number}", number, rows))

    if erased:
        bench.shard.state.applied.skip_to(1)
    else:
        said(1, "The yellow van is in the hall.")
    said(2, VANS[2])
    said(3, VANS[3])
    erase = events.EraseEvent(event_id="x", tenant_id="acme", memory_ids=[memory_id("acme", "e1", 0)])
    bench.apply(lifecycle(erase, 4))
    said(5, VANS[5])
    return bench


def test_relations_decided_beside_what_is_erased_since_are_explained(
    make_bench: Callable[[], Bench],
) -> None:
    """A probability depends on all earlier statements, and the log has lost one of them."""
    before, after = _decided(make_bench()), _decided(make_bench(), erased=True)
    sides = [Generation.open(one.folder, one.publish().generation) for one in (before, after)]
    spans = erased_spans(folder_of(before.folder, sides[0].manifest.generation))
    assert spans == [(1, 4)]
    parity, unexplained = Parity(1, up_to=5), Parity(1, up_to=5)
    compare(sides[0], sides[1], parity, erased=spans)
    compare(sides[0], sides[1], unexplained)
    relations = next(section for section in parity.sections if section.name == "relations")
    assert {one.memory_id for one in relations.examples} == {memory_id("acme", "e3", 0)}
    assert "erased since" in relations.note
    assert (parity.is_total, parity.refuses, unexplained.refuses) == (False, False, True)
    for one in sides:
        one.close()
