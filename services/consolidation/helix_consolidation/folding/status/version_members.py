"""The versions of a memory: which there are, which held at an event, and which events name them.

A family is a memory, its corrections, their corrections, and so on. An erased correction stays a member
without a row, so what was corrected through it is still found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from helix_consolidation.folding.status.memory_status import hiding_record
from helix_consolidation.ledger.event_reach import NOTHING, family_code
from helix_consolidation.ledger.lifecycle.pending_actions import PendingActions
from helix_consolidation.ledger.lifecycle.tombstones import NO_ORDINAL
from helix_consolidation.ledger.versions import Version, superseded

if TYPE_CHECKING:
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.event_reach import MemoryFacts


@dataclass(frozen=True, slots=True)
class Member:
    """A member by its code; without an ordinal it was erased, or never existed."""

    code: int
    corrects: int
    ordinal: int | None


def members_of(state: ConsolidationState, ordinal: int) -> list[int]:
    """Ordinals of all versions of a memory, itself included."""
    return [member.ordinal for member in family_members(state, ordinal) if member.ordinal is not None]


def one_memory(state: ConsolidationState, ordinal: int) -> set[int]:
    """Ordinals of all versions of a memory, with the statements that stand beside each.

    They say one thing after another: what one of them is to another one, the correction says.
    """
    source = state.ledger.sources.of(ordinal)
    turns = members_of(state, ordinal if source is None else source)
    return {one for turn in turns for one in (turn, *state.ledger.sources.same_turn(turn))}


def versions_before(state: ConsolidationState, ordinal: int) -> list[int]:
    """Ordinals of the versions of a memory that are of earlier events: it replaced them."""
    sequence, _ = state.ledger.order(ordinal)
    return [one for one in members_of(state, ordinal) if state.ledger.order(one)[0] < sequence]


def current_before(state: ConsolidationState, ordinal: int, sequence: int) -> int:
    """Ordinal of the version of a memory that held before an event of this sequence.

    That is the given one if no version replaced it.
    """
    versions = [version(state, member, before=sequence) for member in family_members(state, ordinal)]
    earlier = [version for version in versions if version.sequence < sequence]
    current = state.ledger.find(superseded(earlier).get(state.ledger.code(ordinal), ""))
    return ordinal if current is None else current


def family_of(state: ConsolidationState, code: int) -> int:
    """`family_code` of the memory of a code: of itself if it is not known to correct another."""
    erased, first = state.tombstones.erased_corrections, state.ledger.corrections.root
    code, passed = first(code), set[int]()
    while code in erased and code not in passed:
        passed.add(code)
        code = first(erased[code].corrects)
    return family_code(code)


def facts_of(state: ConsolidationState, ordinal: int) -> MemoryFacts:
    """The facts of a memory with its families; a derived statement is in those of its verbatim memory.

    An event that was carried out before a correction came took the correction for a first version.
    """
    facts = state.ledger.memory_facts(ordinal)
    code = facts.source or facts.memory
    return replace(facts, families=(family_of(state, code), family_code(code)))


def corrections_undone(state: ConsolidationState, named: set[int], other: set[int] | None) -> set[int]:
    """Ordinals of the corrections that an undo of `named`, or of versions `named` and `other`, takes back.

    A named correction is undone itself; for a memory that corrects none, all its corrections are. For two
    versions of one memory the later one is. The corrections of one event are taken back together.
    """
    ledger = state.ledger
    if other is not None:
        found = {
            max(one, version, key=ledger.order)
            for one in named
            for version in other.intersection(members_of(state, one))
            if ledger.order(one)[0] != ledger.order(version)[0]
        }
    else:
        found = {one for one in named if ledger.corrected_memory_of(one)[0]}
        found = found or {version for one in named for version in members_of(state, one)}
    events = {(ledger.corrected_memory_of(one)[0], ledger.order(one)[0]) for one in found}
    corrected = {code for code, _ in events if code}
    return {
        one
        for code in corrected
        for one in ledger.corrections.of(code)
        if (code, ledger.order(one)[0]) in events
    }


def family_members(state: ConsolidationState, ordinal: int) -> list[Member]:
    """All members; each comes before its corrections."""
    root = _root(state, ordinal)
    found, waiting = {root.code: root}, [root]
    while waiting:
        new = [below for below in corrections_of(state, waiting.pop().code) if below.code not in found]
        found.update((member.code, member) for member in new)
        waiting += new
    return list(found.values())


def corrections_of(state: ConsolidationState, code: int) -> list[Member]:
    """The corrections of a member; one that was erased and published again is listed with its ordinal."""
    ledger = state.ledger
    there = [Member(ledger.code(o), code, o) for o in ledger.corrections.of(code)]
    erased = state.tombstones.erased_corrections_of.get(code, set()).difference(m.code for m in there)
    return there + [Member(other, code, None) for other in sorted(erased)]


def _root(state: ConsolidationState, ordinal: int) -> Member:
    """The member that corrects nothing, or the last one that a correction names."""
    above: set[int] = set()
    code = state.ledger.code(ordinal)
    current: int | None = ordinal
    while code not in above:
        above.add(code)
        corrects, corrected = corrected_memory_of(state, code, current)
        if not corrects:
            break
        code, current = corrects, corrected
    return Member(code, NOTHING, current)


def corrected_memory_of(state: ConsolidationState, code: int, ordinal: int | None) -> tuple[int, int | None]:
    """Code and ordinal of what a member corrects."""
    if ordinal is not None:
        return state.ledger.corrected_memory_of(ordinal)
    erased = state.tombstones.erased_corrections.get(code)
    if erased is None:
        return NOTHING, None
    is_there = erased.ordinal != NO_ORDINAL and state.ledger.is_there(erased.ordinal)
    return erased.corrects, erased.ordinal if is_there else None


def version(state: ConsolidationState, member: Member, *, before: int | None = None) -> Version:
    """A member now, or as the events with a sequence below `before` left it."""
    if member.ordinal is None:
        erased = state.tombstones.erased_corrections.get(member.code)
        sequence, piece = (0, 0) if erased is None else (erased.sequence, erased.piece)
        return Version(member.code, member.corrects, sequence, piece, "", is_active=False)
    ledger = state.ledger
    sequence, piece = ledger.order(member.ordinal)
    # without its families: a forget of a memory hides all of its versions and takes none back
    facts = ledger.memory_facts(member.ordinal)
    pending = state.pending if before is None else PendingActions()
    hiding = hiding_record(facts, state.tombstones, pending)
    is_active = hiding is None or (before is not None and hiding.sequence >= before)
    is_active &= facts.memory not in state.tombstones.withdrawn
    return Version(member.code, member.corrects, sequence, piece, ledger.memory_id(member.ordinal), is_active)
