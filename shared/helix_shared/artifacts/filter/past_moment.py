"""A past moment: selects what was known then, or what had happened and held then (ops/decisions/0011, 0038).

The lexicon holds no times of creation and occurrence; the query service passes it the ordinals (`OrdinalSet`)
instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from helix_shared.artifacts.filter.sql import timestamp
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_shared.artifacts.filter.versions import Versions
    from helix_shared.artifacts.signals.reader import Signals


@dataclass(frozen=True, slots=True)
class PastMoment:
    """Selects what was created by `known_by` and had occurred by `happened_by`; None: any time.

    A memory that was superseded or closed counts as current if what superseded it was created or occurred
    later. A memory forgotten since stays forgotten.
    """

    known_by: datetime | None = None
    happened_by: datetime | None = None

    def __bool__(self) -> bool:
        return self.known_by is not None or self.happened_by is not None

    def sql(self) -> Iterable[str]:
        """Conditions on the record; they keep superseded rows, which `mask` removes."""
        if self.known_by is not None:
            yield f"created_at <= {timestamp(self.known_by)}"
        if self.happened_by is not None:
            yield f"occurred_at <= {timestamp(self.happened_by)}"
        yield "(hidden = false OR deleted_at IS NULL)"

    def admits(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of `record_schema` was created and had occurred by then."""
        known = self.known_by is None or row["created_at"] <= self.known_by
        return known and (self.happened_by is None or row["occurred_at"] <= self.happened_by)

    def mask(self, signals: Signals, versions: Versions, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] existed then and were neither superseded nor are forgotten now."""
        existing: NDArray[np.bool_] = ~signals.hidden[ordinals]
        existing |= versions.is_current(ordinals, known_by=self._known, happened_by=self._happened)
        return existing & self.reached(signals, ordinals)

    def reached(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] were created and had occurred by then, whether or not they still exist."""
        reached = np.ones(len(ordinals), np.bool_)
        if self._known is not None:
            reached &= signals.created_at[ordinals] <= self._known
        if self._happened is not None:
            reached &= signals.occurred_at[ordinals] <= self._happened
        return reached

    def ends(self, signals: Signals, versions: Versions, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Until when `ordinals` [n] hold, as far as was known and had happened then."""
        return versions.ends(
            ordinals, signals.valid_to[ordinals], known_by=self._known, happened_by=self._happened
        )

    @property
    def _known(self) -> int | None:
        return None if self.known_by is None else microseconds(self.known_by)

    @property
    def _happened(self) -> int | None:
        return None if self.happened_by is None else microseconds(self.happened_by)
