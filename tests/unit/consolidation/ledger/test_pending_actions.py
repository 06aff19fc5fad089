"""Pending actions: which are in force, which are due, and what a lookup costs."""

from __future__ import annotations

import json
import random
from time import process_time

import pytest

from helix_consolidation.ledger.event_reach import TENANT, MemoryFacts
from helix_consolidation.ledger.lifecycle.pending_actions import LifecycleAction, PendingActions

ROW = MemoryFacts(stream_sequence=0, memory=1, session=2, document=3, user=0)


def action(sequence: int, event: int, kind: str = "forget", selector: int = 1) -> LifecycleAction:
    """An action of the tenant."""
    return LifecycleAction(sequence, event, kind, "acme", TENANT, "memory", (selector,))  # type: ignore[arg-type]


def reaching(actions: list[LifecycleAction]) -> set[int]:
    """Sequences of the actions in force, computed from the list alone."""
    first = {found.event: found for found in reversed(actions)}
    named = (found for found in first.values() if {1, 2, 3}.intersection(found.selectors))
    return {found.sequence for found in named if found.kind != "feedback"}


@pytest.mark.parametrize("seed", range(20))
def test_the_indexes_agree_with_the_list(seed: int) -> None:
    """Actions and repeats in random order, cancelled replacements, a rising floor."""
    chance, pending, floor = random.Random(seed), PendingActions(), 0
    for sequence in chance.sample(range(1, 61), 60):
        kind = chance.choice(["forget", "erase", "replace", "feedback"])
        if sequence > floor:
            pending.add(action(sequence, chance.randrange(15), kind, chance.randrange(1, 5)))
        if chance.random() < 0.2:
            event, after = chance.randrange(15), chance.randrange(60)
            kept = [
                a for a in pending.actions if a.event != event or a.kind != "replace" or a.sequence <= after
            ]
            pending.cancel(event, after=after)
            assert pending.actions == kept
        if chance.random() < 0.2:
            floor += chance.randrange(8)
            first = {found.event: found for found in reversed(pending.actions)}
            ready = [a for a in pending.actions if a.sequence <= floor and first[a.event] is a]
            kept = [a for a in pending.actions if a.event not in {found.event for found in ready}]
            assert (pending.due(floor), pending.actions) == (ready, kept)
        assert {found.sequence for found in pending.reaching(ROW)} == reaching(pending.actions)


def test_pending_actions_are_encoded_after_every_change() -> None:
    """Added, cancelled and added again with another selector, taken out: the JSON equals the list."""
    pending = PendingActions.of([action(n, n) for n in range(10, 20)])

    def stored() -> list[LifecycleAction]:
        return [LifecycleAction.from_json(value) for value in json.loads(pending.encoded())]

    assert stored() == pending.actions
    pending.add(action(30, 1, "replace"))
    assert stored() == pending.actions
    pending.cancel(1, after=5)
    pending.add(action(30, 1, "replace", selector=4))
    assert stored() == pending.actions
    pending.due(15)
    assert stored() == pending.actions != []


def test_due_costs_nothing_for_actions_that_are_not_due() -> None:
    """With ten times the pending actions a call is at most a few times slower."""

    def seconds(waiting: int) -> float:
        pending = PendingActions.of([action(2 * n + 2, n + 1, "feedback") for n in range(waiting)])
        begin = process_time()
        for floor in range(1, 401):
            pending.due(floor)
        return process_time() - begin

    assert seconds(20_000) < 4 * seconds(2_000) + 0.02
