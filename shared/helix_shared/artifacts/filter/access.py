"""Who may see a memory: its tenant, its owner and its access list.

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

    def among(
        self,
        signals: Signals,
        ordinals: NDArray[np.int64],
        visible: NDArray[np.bool_],
        judged: dict[int, bool] | None = None,
    ) -> NDArray[np.bool_]:
        """`visible` [n] without those of `ordinals` [n] that the caller may not see; changed in place.

        An access list is read from the record of a memory, once for each distinct list. `judged` remembers by
        its code whether it is open to the caller; a list without a record is not.
        """
        visible &= signals.tenant_code[ordinals] == code(self.tenant_id)
        visible &= np.isin(signals.owner_code[ordinals], [code(owner) for owner in self.owners])
        codes = signals.audience_code[ordinals]
        judged = {} if judged is None else judged
        # of a large page, only the first part has lists that were not judged before
        unjudged = np.flatnonzero(visible & ~np.isin(codes, [_NO_LIST, *judged]))
        if len(unjudged):
            distinct, first = np.unique(codes[unjudged], return_index=True)
            places = zip(ordinals[unjudged[first]].tolist(), distinct.tolist(), strict=True)
            unread, names = dict(places), set(self.audiences)
            for record in signals.records(np.array([*unread], np.int64)):
                judged[unread.pop(record["ordinal"])] = not names.isdisjoint(record["audience"])
            # of an erased memory there is no record
            visible &= ~np.isin(codes, [*unread.values()])
        # The channels of one recall judge at the same time and add to it. A copy is made in one step; a list
        # of its items is not, since the collector may run between two of them.
        closed = [one for one, is_open in judged.copy().items() if not is_open]
        if closed:
            visible &= ~np.isin(codes, closed)
        return visible
