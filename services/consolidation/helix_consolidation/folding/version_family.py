"""Families: a memory, its corrections, theirs, and so on, found in the ledger and the tombstones.

`versions` decides which member stands. An erased correction stays a member without a row, so that what was
corrected through it is still told from what was not.

Whether a member is live decides about what it corrects and what else corrects that, and goes on upwards only
through members that are not live. So a new correction of a long family is judged with its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_consolidation.ledger.memory_status import NEVER, MemoryStatus, forgotten_at, status_of
from helix_consolidation.ledger.tombstones import NO_ORDINAL
from helix_consolidation.ledger.versions import Version, superseded

if TYPE_CHECKING:
    from collections.abc import Collection

    from helix_consolidation.folding.context import ConsolidationState


Place = tuple[int, int | None]
"""A memory by its code, and its ordinal where it is there."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A member by its code; without an ordinal it was erased, or never there."""

    code: int
    corrects: int
    ordinal: int | None


def members_of(state: ConsolidationState, ordinal: int) -> list[int]:
    """Ordinals of all versions of a memory, itself included."""
    return [member.ordinal for member in _family(state, ordinal) if member.ordinal is not None]


def statuses(
    state: ConsolidationState, start: Place, now: int, asked: Collection[int]
) -> dict[int, MemoryStatus]:
    """How the memories around `start` stand, by ordinal: of them the `asked`, and those with another heir.

    `start` is the `place_of` a memory that changed; `now` is in microseconds.
    """
    path, top = _path(state, start)
    family = _around(state, top, path)
    by = superseded([version for _, version in family]) if len(family) > 1 else {}
    found: dict[int, MemoryStatus] = {}
    for member, _ in family:
        if member.ordinal is None or path.isdisjoint((member.code, member.corrects)):
            continue
        heir = by.get(member.code, "")
        if member.ordinal in asked or heir != state.ledger.superseded_by(member.ordinal):
            row = state.ledger.memory_facts(member.ordinal)
            found[member.ordinal] = status_of(row, state.tombstones, state.pending, now, superseded_by=heir)
    return found


def place_of(state: ConsolidationState, ordinal: int) -> Place:
    """Where the judgement of a memory begins: with what it corrects, else with itself."""
    code, corrected = state.ledger.corrected_by(ordinal)
    return (code, corrected) if code else (state.ledger.code(ordinal), ordinal)


def _path(state: ConsolidationState, start: Place) -> tuple[set[int], _Member]:
    """Codes from `start` upwards to the first live member and what that corrects, and the last member."""
    code, place = start
    path: set[int] = set()
    is_last = False
    while True:
        path.add(code)
        corrects, corrected = _corrected_by(state, code, place)
        if not corrects or corrects in path or is_last:
            return path, _Member(code, 0, place)
        is_last = _version(state, _Member(code, corrects, place)).is_live
        code, place = corrects, corrected


def _around(state: ConsolidationState, top: _Member, path: set[int]) -> list[tuple[_Member, Version]]:
    """The members below `top` that decide which version stands for those of `path` and their corrections.

    What is corrected comes before its corrections. Of others a live member decides, whatever corrects it.
    """
    found = {top.code: (top, _version(state, top))}
    waiting = [top]
    while waiting:
        member = waiting.pop()
        if path.isdisjoint((member.code, member.corrects)) and found[member.code][1].is_live:
            continue
        new = [below for below in _corrections(state, member.code) if below.code not in found]
        found.update((below.code, (below, _version(state, below))) for below in new)
        waiting += new
    return list(found.values())


def _family(state: ConsolidationState, ordinal: int) -> list[_Member]:
    """All members, what is corrected before its corrections."""
    root = _root(state, ordinal)
    found, waiting = {root.code: root}, [root]
    while waiting:
        new = [below for below in _corrections(state, waiting.pop().code) if below.code not in found]
        found.update((member.code, member) for member in new)
        waiting += new
    return list(found.values())


def _corrections(state: ConsolidationState, code: int) -> list[_Member]:
    """What corrects a member; one that is there again after it was erased is listed as being there."""
    ledger = state.ledger
    there = [_Member(ledger.code(o), code, o) for o in ledger.corrections_of(code)]
    erased = state.tombstones.heirs.get(code, set()).difference(member.code for member in there)
    return there + [_Member(heir, code, None) for heir in sorted(erased)]


def _root(state: ConsolidationState, ordinal: int) -> _Member:
    """The memory that corrects nothing; where it is not there, only its code is known."""
    above: set[int] = set()
    code = state.ledger.code(ordinal)
    place: int | None = ordinal
    while code not in above:
        above.add(code)
        corrects, corrected = _corrected_by(state, code, place)
        if not corrects:
            break
        code, place = corrects, corrected
    return _Member(code, 0, place)


def _corrected_by(state: ConsolidationState, code: int, ordinal: int | None) -> tuple[int, int | None]:
    """Code and ordinal of what a member corrects."""
    if ordinal is not None:
        return state.ledger.corrected_by(ordinal)
    ancestor = state.tombstones.erased_corrections.get(code)
    if ancestor is None:
        return 0, None
    place = ancestor.ordinal
    is_there = place != NO_ORDINAL and state.ledger.is_there(place)
    return ancestor.corrects, place if is_there else None


def _version(state: ConsolidationState, member: _Member) -> Version:
    if member.ordinal is None:
        ancestor = state.tombstones.erased_corrections.get(member.code)
        sequence, piece = (0, 0) if ancestor is None else (ancestor.sequence, ancestor.piece)
        return Version(member.code, member.corrects, sequence, piece, "", is_live=False)
    ledger = state.ledger
    sequence, piece = ledger.order(member.ordinal)
    row = ledger.memory_facts(member.ordinal)
    is_live = (
        row.memory not in state.tombstones.withdrawn
        and forgotten_at(row, state.tombstones, state.pending) == NEVER
    )
    return Version(member.code, member.corrects, sequence, piece, ledger.memory_id(member.ordinal), is_live)
