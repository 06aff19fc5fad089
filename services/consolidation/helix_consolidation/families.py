"""Families: a memory, its corrections, theirs, and so on, found in the ledger and the tombstones.

`versions` decides which member stands. An erased correction stays a member without a row, so that what was
corrected through it is still told from what was not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_consolidation.standing import NEVER, Standing, forgotten_at, standing
from helix_consolidation.tombstones import NO_ORDINAL
from helix_consolidation.versions import Version, superseded

if TYPE_CHECKING:
    from helix_consolidation.folding import Known


@dataclass(frozen=True, slots=True)
class _Member:
    """A member by its code; without an ordinal it was erased, or never there."""

    code: int
    corrects: int
    ordinal: int | None


def members_of(known: Known, ordinal: int) -> list[int]:
    """Ordinals of all versions of a memory, itself included."""
    return [member.ordinal for member in _family(known, ordinal) if member.ordinal is not None]


def standings(known: Known, ordinal: int, now: int) -> dict[int, Standing]:
    """How a memory and all other versions of it stand, by ordinal; `now` is in microseconds."""
    family = _family(known, ordinal)
    by = superseded([_version(known, member) for member in family]) if len(family) > 1 else {}
    return {
        member.ordinal: standing(
            known.ledger.bearings(member.ordinal),
            known.tombstones,
            known.pending,
            now,
            superseded_by=by.get(member.code, ""),
        )
        for member in family
        if member.ordinal is not None
    }


def _family(known: Known, ordinal: int) -> list[_Member]:
    """All members, what is corrected before its corrections."""
    ledger, root = known.ledger, _root(known, ordinal)
    found, waiting = {root.code: root}, [root]
    while waiting:
        code = waiting.pop().code
        erased = known.tombstones.heirs.get(code, ())
        corrections = [_Member(ledger.code(o), code, o) for o in ledger.corrections_of(code)]
        corrections += [_Member(heir, code, None) for heir in sorted(erased)]
        new = [member for member in corrections if member.code not in found]
        found.update((member.code, member) for member in new)
        waiting += new
    return list(found.values())


def _root(known: Known, ordinal: int) -> _Member:
    """The memory that corrects nothing; where it is not there, only its code is known."""
    above: list[int] = []
    code = known.ledger.code(ordinal)
    place: int | None = ordinal
    while code not in above:
        above.append(code)
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
