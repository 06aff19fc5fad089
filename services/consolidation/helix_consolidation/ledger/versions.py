"""Which version of a memory is current: a pure function of the corrections in one version family.

A family is a memory, its corrections, their corrections, and so on. A correction that is forgotten or erased
does not count, but its own corrections still do: they then replace what it corrected. So undoing a correction
restores the version before it, and undoing one in the middle of a chain changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Version:
    """One member of a family; `code` and `corrects` are codes of memories.

    `is_active` is False for what is forgotten, withdrawn or erased.
    """

    code: int
    corrects: int
    sequence: int
    piece: int
    memory_id: str
    is_active: bool

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key: the later event wins, of its pieces the first."""
        return self.sequence, -self.piece


def superseded(family: Sequence[Version]) -> dict[int, str]:
    """Code of each superseded member -> id of the active version that supersedes it.

    `family` lists each member before its corrections. A member is superseded by a later correction of itself,
    or of what it corrects, if that correction is active or has an active successor.
    """
    successors: dict[int, str] = {}
    latest: dict[int, Version] = {}
    for version in reversed(family):
        best = latest.get(version.code)
        if version.is_active:
            successors[version.code] = version.memory_id
        elif best is not None:
            successors[version.code] = successors[best.code]
        if version.code in successors and version.corrects:
            other = latest.get(version.corrects)
            latest[version.corrects] = version if other is None else max(other, version, key=_rank)
    found: dict[int, str] = {}
    for version in family:
        later = latest.get(version.code)
        if later is None and version.corrects:
            sibling = latest.get(version.corrects)
            later = sibling if sibling is not None and sibling.sequence > version.sequence else None
        if later is not None:
            found[version.code] = successors[later.code]
    return found


def _rank(version: Version) -> tuple[int, int]:
    return version.rank
