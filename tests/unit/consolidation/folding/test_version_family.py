"""Version families: which versions a change is checked with, and what that costs."""

from __future__ import annotations

import random
from time import process_time

import pytest

from helix_consolidation.folding.changes import Changes
from helix_consolidation.folding.context import FoldContext
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.folding.status.version_members import members_of
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.ledger.event_reach import value_code
from helix_consolidation.ledger.facts import LedgerEntry
from helix_consolidation.ledger.versions import Version, superseded
from helix_shared.identity import memory_id
from tests.examples import seeds


def entry(number: int, corrects: int | None) -> LedgerEntry:
    """Memory `number`, which corrects another one or none."""
    ids = [memory_id("acme", f"e{n}", 0) for n in (number, corrects or 0)]
    return LedgerEntry(
        ids[0], "acme", 0, number + 1, number + 1, 0, 0, 0, corrects="" if corrects is None else ids[1]
    )


def context_of(state: ConsolidationState) -> FoldContext:
    """One batch."""
    return FoldContext(state, Changes(stored_before=state.ledger.size), 0, lambda _, __: {})


def whole(state: ConsolidationState, ordinal: int) -> dict[str, str]:
    """The successor of each member, computed from the whole family; a withdrawn one names none."""
    members, versions = sorted(members_of(state, ordinal), key=state.ledger.order), []
    for member in members:
        code, (corrects, _) = state.ledger.code(member), state.ledger.corrected_memory_of(member)
        is_active = code not in state.tombstones.withdrawn
        memory = state.ledger.memory_id(member)
        versions.append(Version(code, corrects, *state.ledger.order(member), memory, is_active))
    by = superseded(versions) | dict.fromkeys(state.tombstones.withdrawn, "")
    return {state.ledger.memory_id(member): by.get(state.ledger.code(member), "") for member in members}


@pytest.mark.parametrize("seed", seeds(25, part=8))
def test_checking_the_neighbours_equals_checking_the_whole_family(seed: int) -> None:
    """Random corrections of each other, in random order, withdrawn and restored in between."""
    chance, state = random.Random(seed), ConsolidationState()
    corrected = {0: None} | {
        n: chance.randrange(max(0, n - chance.choice([1, 3, 30])), n) for n in range(1, 30)
    }
    arrived: list[int] = []
    for number in chance.sample(range(30), 30):
        arrived.append(state.ledger.add(entry(number, corrected[number])))
        update_status(context_of(state), arrived[-1:])
        toggled = chance.sample(arrived, min(len(arrived), chance.choice([0, 1, 5])))
        for ordinal in toggled:
            code = state.ledger.code(ordinal)
            state.tombstones.record_withdrawn(code, withdrawn=code not in state.tombstones.withdrawn)
        update_status(context_of(state), toggled)
        recorded = {state.ledger.memory_id(o): state.ledger.status(o).superseded_by for o in arrived}
        expected = {
            name: successor for ordinal in arrived for name, successor in whole(state, ordinal).items()
        }
        assert recorded == expected


def test_an_erased_correction_that_is_there_again_is_in_its_own_family() -> None:
    """Its tombstone is not listed as a second member."""
    state = ConsolidationState()
    first, second = (state.ledger.add(entry(number, number - 1 if number else None)) for number in range(2))
    code = value_code("acme", "memory", memory_id("acme", "e1", 0))
    state.tombstones.erased_corrections_of[state.ledger.code(first)] = {code}
    assert members_of(state, first) == [first, second]


def test_one_more_version_costs_the_same_in_a_long_chain() -> None:
    """After two thousand corrections checking the next one costs no more than after a hundred."""

    def seconds(length: int) -> float:
        state = ConsolidationState()
        for number in range(length):
            ordinal = state.ledger.add(entry(number, number - 1 if number else None))
        begin = process_time()
        for _ in range(20):
            update_status(context_of(state), [ordinal])
        return process_time() - begin

    assert seconds(2_000) < 4 * seconds(100) + 0.02
