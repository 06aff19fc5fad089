"""Families: a memory, its corrections, theirs, and so on, found in the ledger and the tombstones.

`versions` decides which member stands. An erased correction stays a member without a row, so that what was
corrected through it is still told from what was not.

Whether a member is live decides about what it corrects and what else corrects that, and goes on upwards only
through members that are not live. So a new correction of a long family is judged with its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_consolidation.ledger.standing import NEVER, Standing, forgotten_at, standing
from helix_consolidation.ledger.tombstones import NO_ORDINAL
from helix_consolidation.ledger.versions import Version, superseded

if TYPE_CHECKING:
    from collections.abc import Collection

    from helix_consolidation.folding.folding import Known


Place = tuple[int, int | None]
"""A memory by its code, and its ordinal where it is there."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A member by its code; without an ordinal it was erased, or never there."""

    code: int
    corrects: int
    ordinal: int | None


def members_of(known: Known, ordinal: int) -> list[int]:
    """Ordinals of all versions of a memory, itself included."""
    return [member.ordinal for member in _family(known, ordinal) if member.ordinal is not None]


def standings(known: Known, start: Place, now: int, asked: Collection[int]) -> dict[int, Standing]:
    """How the memories around `start` stand, by ordinal: of them the `asked`, and those with another heir.

    `start` is the `place_of` a memory that changed; `now` is in microseconds.
    """
    path, top = _path(known, start)
    family = _around(known, top, path)
    by = superseded([version for _, version in family]) if len(family) > 1 else {}
    found: dict[int, Standing] = {}
    for member, _ in family:
        if member.ordinal is None or path.isdisjoint((member.code, member.corrects)):
            continue
        heir = by.get(member.code, "")
        if member.ordinal in asked or heir != known.ledger.superseded_by(member.ordinal):
            row = known.ledger.bearings(member.ordinal)
            found[member.ordinal] = standing(row, known.tombstones, known.pending, now, superseded_by=heir)
    return found


def place_of(known: Known, ordinal: int) -> Place:
    """Where the judgement of a memory begins: with what it corrects, else with itself."""
    code, corrected = known.ledger.corrected_by(ordinal)
    return (code, corrected) if code else (known.ledger.code(ordinal), ordinal)


def _path(known: Known, start: Place) -> tuple[set[int], _Member]:
    """Codes from `start` upwards to the first live member and what that corrects, and the last member."""
    code, place = start
    path: set[int] = set()
    is_last = False
    while True:
        path.add(code)
        corrects, corrected = _corrected_by(known, code, place)
        if not corrects or corrects in path or is_last:
            return path, _Member(code, 0, place)
        is_last = _version(known, _Member(code, corrects, place)).is_live
        code, place = corrects, corrected


def _around(known: Known, top: _Member, path: set[int]) -> list[tuple[_Member, Version]]:
    """The members below `top` that decide which version stands for those of `path` and their corrections.

    What is corrected comes before its corrections. Of others a live member decides, whatever corrects it.
    """
    found = {top.code: (top, _version(known, top))}
    waiting = [top]
    while waiting:
        member = waiting.pop()
        if path.isdisjoint((member.code, member.corrects)) and found[member.code][1].is_live:
            continue
        new = [below for below in _corrections(known, member.code) if below.code not in found]
        found.update((below.code, (below, _version(known, below))) for below in new)
        waiting += new
    return list(found.values())


def _family(known: Known, ordinal: int) -> list[_Member]:
    """All members, what is corrected before its corrections."""
    root = _root(known, ordinal)
    found, waiting = {root.code: root}, [root]
    while waiting:
        new = [below for below in _corrections(known, waiting.pop().code) if below.code not in found]
        found.update((member.code, member) for member in new)
        waiting += new
    return list(found.values())


def _corrections(known: Known, code: int) -> list[_Member]:
    """What corrects a member; one that is there again after it was erased is listed as being there."""
    ledger = known.ledger
    there = [_Member(ledger.code(o), code, o) for o in ledger.corrections_of(code)]
    erased = known.tombstones.heirs.get(code, set()).difference(member.code for member in there)
    return there + [_Member(heir, code, None) for heir in sorted(erased)]


def _root(known: Known, ordinal: int) -> _Member:
    """The memory that corrects nothing; where it is not there, only its code is known."""
    above: set[int] = set()
    code = known.ledger.code(ordinal)
    place: int | None = ordinal
    while code not in above:
        above.add(code)
        corrects, corrected = _corrected_by(known, code, place)
        if not corrects:
            break
        code, place = corrects, corrected
    return _Member(code, 0, place)


def _corrected_by(known: Known, code: int, ordinal: int | None) -> tuple[int, int | None]:
    """Code and ordinal of what a member corrects."""
    if ordinal is not None:
        return known.ledger.corrected_by(ordinal)
    ancestor = known.tombstones.ancestors.get(code)
    if ancestor is None:
        return 0, None
    place = ancestor.ordinal
    is_there = place != NO_ORDINAL and known.ledger.is_there(place)
    return ancestor.corrects, place if is_there else None


def _version(known: Known, member: _Member) -> Version:
    if member.ordinal is None:
        ancestor = known.tombstones.ancestors.get(member.code)
        sequence, piece = (0, 0) if ancestor is None else (ancestor.sequence, ancestor.piece)
        return Version(member.code, member.corrects, sequence, piece, "", is_live=False)
    ledger = known.ledger
    sequence, piece = ledger.order(member.ordinal)
    row = ledger.bearings(member.ordinal)
    is_live = (
        row.memory not in known.tombstones.withdrawn
        and forgotten_at(row, known.tombstones, known.pending) == NEVER
    )
    return Version(member.code, member.corrects, sequence, piece, ledger.memory_id(member.ordinal), is_live)
