"""Which version of a memory stands: a pure function of the corrections in one family.

A family is a memory, its corrections, theirs, and so on. A correction that is forgotten or erased does not
count, but the corrections of it still do: then they stand for what it corrected. So undoing a correction
brings the version before back, and undoing one in the middle of a chain changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Version:
    """One member of a family; `code` and `corrects` are codes of memories.

    `is_live` is False for what is forgotten, withdrawn or erased.
    """

    code: int
    corrects: int
    sequence: int
    piece: int
    memory_id: str
    is_live: bool

    @property
    def rank(self) -> tuple[int, int]:
        """The later event wins, of its pieces the first."""
        return self.sequence, -self.piece


def superseded(family: Sequence[Version]) -> dict[int, str]:
    """Code of each superseded member -> id of the live version that supersedes it.

    `family` lists what is corrected before its corrections. A member is superseded by a later correction of
    itself, or of what it corrects, that is live or was corrected by one that is.
    """
    heirs: dict[int, str] = {}
    latest: dict[int, Version] = {}
    for version in reversed(family):
        best = latest.get(version.code)
        if version.is_live:
            heirs[version.code] = version.memory_id
        elif best is not None:
            heirs[version.code] = heirs[best.code]
        if version.code in heirs and version.corrects:
            known = latest.get(version.corrects)
            latest[version.corrects] = version if known is None else max(known, version, key=_rank)
    found: dict[int, str] = {}
    for version in family:
        later = latest.get(version.code)
        if later is None and version.corrects:
            beside = latest.get(version.corrects)
            later = beside if beside is not None and beside.sequence > version.sequence else None
        if later is not None:
            found[version.code] = heirs[later.code]
    return found


def _rank(version: Version) -> tuple[int, int]:
    return version.rank
