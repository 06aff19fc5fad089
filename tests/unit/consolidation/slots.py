"""A stand-in for `decide` and messages for it: a statement is a slot and its value ("port 443")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nats.aio.msg import Msg

from helix_cli.output.graph_export import to_networkx
from helix_consolidation.relations.statement import RETRACTS, Candidate, Decision, Statement
from helix_consolidation.stores.shard import Shard
from helix_memory.events import EraseEvent, ForgetEvent, UndoEvent
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import Bench, Stream, row

TENANT = "acme"


def decide_by_slot(new: Statement, candidates: Sequence[Candidate]) -> list[Decision]:
    """Another value of the slot is closed; the same value is a repetition, or comes back after another.

    "jk" takes the statement before it back, "undo" what it says, without being sure.
    """
    if new.text.startswith("undo"):
        undone = {RETRACTS: 1.0}
        return [Decision(len(candidates) - 1, "UPDATES", 0.6, evidence=undone)] if candidates else []
    if new.text.startswith("jk"):
        last = Decision(len(candidates) - 1, "RELATES", 1.0, closes=True, evidence={RETRACTS: 1.0})
        return [last] if candidates else []
    decisions, slot, value = [], *new.text.split()[:2]
    others = False
    for index in reversed(range(len(candidates))):
        older_slot, older_value = candidates[index].statement.text.split()[:2]
        if older_slot != slot:
            continue
        if older_value != value:
            others = True
            decisions.append(Decision(index, "UPDATES", 0.99, closes=True, evidence={"slot": 1.0}))
        elif others:
            decisions.append(Decision(index, "RELATES", 0.9, evidence={"revives": 1.0}))
        else:
            decisions.append(Decision(index, "DUPLICATE", 0.8))
    return decisions


def decide_unsure(new: Statement, candidates: Sequence[Candidate]) -> list[Decision]:
    """As `decide_by_slot`, but a replacement is unsure; the rules permit closing a port, not a host."""
    return [
        replace(one, probability=0.4, closes=False, unsure=True, closable=new.text.startswith("port"))
        if one.relation == "UPDATES" and not new.text.endswith("sure")
        else one
        for one in decide_by_slot(new, candidates)
    ]


def decide_likely(new: Statement, candidates: Sequence[Candidate]) -> list[Decision]:
    """As `decide_by_slot`, but what ends with "likely" has no word of change, and closes nothing."""
    return [
        replace(one, probability=0.9, closes=False) if new.text.endswith("likely") else one
        for one in decide_by_slot(new, candidates)
    ]


def told(stream: Stream, newer: int, verdicts: dict[int, str]) -> Msg:
    """What a language model says of the memory of event `newer` and those of earlier events."""
    rows = [
        {
            "newer": memory_id(TENANT, f"e{newer}", 0),
            "newer_sequence": newer,
            "older": memory_id(TENANT, f"e{older}", 0),
            "older_sequence": older,
            "verdict": verdict,
        }
        for older, verdict in verdicts.items()
    ]
    return stream.verdicts(TENANT, f"e{newer}", newer, rows)


def ids(count: int) -> list[str]:
    """Ids of the memories that `said` makes, and an empty one before them."""
    return ["", *(memory_id(TENANT, f"e{number}", 0) for number in range(1, count + 1))]


def said(stream: Stream, sequence: int, text: str, **fields: Any) -> Msg:
    """The memories message of an event that says one thing."""
    return stream.memories(
        TENANT, f"e{sequence}", sequence, [row(TENANT, f"e{sequence}", sequence, text, **fields)]
    )


def restarted(bench: Bench) -> None:
    """Restart the shard from its last generation."""
    bench.shard.close()
    bench.shard = Shard.open(bench.folder, maintain_every=64, decide=decide_by_slot)


def current(bench: Bench) -> set[str]:
    """Texts of the memories that are not hidden."""
    return {r["text"] for r in bench.rows().values() if not r["hidden"]}


def edges(bench: Bench) -> dict[tuple[str, str, str], float]:
    """Edges between memories of the next generation."""
    names = {r["ordinal"]: memory for memory, r in bench.rows().items()}
    generation = Generation.open(bench.folder, bench.publish().generation)
    graph = to_networkx(generation.graph)
    generation.close()
    return {
        (names[a], names[b], data["kind"]): round(data["weight"], 2) for a, b, data in graph.edges(data=True)
    }


def event(kind: str, name: str, *memories: str) -> Any:
    """A forget, restore or erase of memories; an undo of the first, or of its relation to the second."""
    if kind == "undo":
        named = dict(zip(("memory_id", "other"), memories, strict=False))
        return UndoEvent(event_id=name, tenant_id=TENANT, **named)
    body = {"event_id": name, "tenant_id": TENANT, "memory_ids": list(memories)}
    return EraseEvent(**body) if kind == "erase" else ForgetEvent(**body, restore=kind == "restore")
