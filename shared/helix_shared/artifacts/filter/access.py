"""Access: who may see a memory, by its tenant, owner and access list.

In the lexicon the same rule is a set of scopes (`scopes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.filter.sql import literal, literals
from helix_shared.artifacts.signals.columns import code

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals

_NO_LIST: Final = 0
"""The code of a memory that every user of its tenant may see."""


@dataclass(frozen=True, slots=True)
class Access:
    """A caller sees memories of the tenant that have one of `owners` and one of `audiences`."""

    tenant_id: str
    owners: tuple[str, ...]
    audiences: tuple[str, ...]

    def sql(self) -> Iterable[str]:
        """Conditions on owner and access list; `tenant_sql` has the tenant."""
        return (
            f"owner IN ({literals(self.owners)})",
            f"array_has_any(audience, [{literals(self.audiences)}])",
        )

    def tenant_sql(self) -> str:
        """The condition on the tenant."""
        return f"tenant_id = {literal(self.tenant_id)}"

    def admits(self, row: Mapping[str, Any]) -> bool:
        """Whether the caller may see a row of `record_schema`."""
        return (
            row["tenant_id"] == self.tenant_id
            and row["owner"] in self.owners
            and not set(self.audiences).isdisjoint(row["audience"])
        )

    def restrict(
        self,
        signals: Signals,
        ordinals: NDArray[np.int64],
        visible: NDArray[np.bool_],
        checked_lists: dict[int, bool] | None = None,
    ) -> NDArray[np.bool_]:
        """`visible` [n] without those of `ordinals` [n] that the caller may not see; changed in place.

        An access list is read from the record of a memory, once for each distinct list. `checked_lists` holds
        by the code of a list whether it admits the caller, and is extended; a list without a record admits
        nobody.
        """
        visible &= signals.tenant_code[ordinals] == code(self.tenant_id)
        visible &= np.isin(signals.owner_code[ordinals], [code(owner) for owner in self.owners])
        codes = signals.audience_code[ordinals]
        checked_lists = {} if checked_lists is None else checked_lists
        # only the first memories of a large page have lists that were not checked yet
        unchecked = np.flatnonzero(visible & ~np.isin(codes, [_NO_LIST, *checked_lists]))
        if len(unchecked):
            distinct, first = np.unique(codes[unchecked], return_index=True)
            places = zip(ordinals[unchecked[first]].tolist(), distinct.tolist(), strict=True)
            unread, names = dict(places), set(self.audiences)
            for record in signals.records(np.array([*unread], np.int64)):
                checked_lists[unread.pop(record["ordinal"])] = not names.isdisjoint(record["audience"])
            # of an erased memory there is no record
            visible &= ~np.isin(codes, [*unread.values()])
        # The channels of one recall call this at the same time and extend the dictionary. A copy is made in
        # one step; a list of its items is not, since the collector may run between two of them.
        closed = [one for one, is_open in checked_lists.copy().items() if not is_open]
        if closed:
            visible &= ~np.isin(codes, closed)
        return visible
