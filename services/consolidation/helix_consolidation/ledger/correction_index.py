"""Which memory says that it corrects which, in both directions; part of the ledger."""

from __future__ import annotations

from helix_consolidation.ledger.event_reach import NOTHING, value_code


class CorrectionIndex:
    """Corrections by ordinal, and by the code of what they correct. A tenant is part of every code."""

    def __init__(self) -> None:
        self._corrected: dict[int, tuple[int, str]] = {}
        self._of: dict[int, set[int]] = {}

    def tie(self, ordinal: int, tenant_id: str, corrects: str) -> None:
        """The memory at `ordinal` corrects the one with the id `corrects`; empty: it corrects none."""
        self.untie(ordinal)
        if corrects:
            code = value_code(tenant_id, "memory", corrects)
            self._corrected[ordinal] = (code, corrects)
            self._of.setdefault(code, set()).add(ordinal)

    def untie(self, ordinal: int) -> None:
        """The memory at `ordinal` corrects none."""
        code, _ = self._corrected.pop(ordinal, (NOTHING, ""))
        if code:
            self._of[code].discard(ordinal)

    def by(self, ordinal: int) -> tuple[int, str]:
        """Code and id of what a memory corrects; `NOTHING` and an empty id for most."""
        return self._corrected.get(ordinal, (NOTHING, ""))

    def of(self, memory: int) -> list[int]:
        """Ordinals of the corrections of the memory of this code, ascending."""
        return sorted(self._of.get(memory, ()))
