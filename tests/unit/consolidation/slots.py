"""A stand-in for `decide` and messages for it: a statement is a slot and its value ("port 443")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nats.aio.msg import Msg

from helix_consolidation.relations.statement import Candidate, Decision, Statement
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import Stream, row

TENANT = "acme"


def decide_by_slot(new: Statement, candidates: Sequence[Candidate]) -> list[Decision]:
    """Another value of the slot is closed; the same value is a repetition, or comes back after another."""
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


def ids(count: int) -> list[str]:
    """Ids of the memories that `said` makes, and an empty one before them."""
    return ["", *(memory_id(TENANT, f"e{number}", 0) for number in range(1, count + 1))]


def said(stream: Stream, sequence: int, text: str, **fields: Any) -> Msg:
    """The memories message of an event that says one thing."""
    return stream.memories(
        TENANT, f"e{sequence}", sequence, [row(TENANT, f"e{sequence}", sequence, text, **fields)]
    )
