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
    """Selects memories created by `as_of` that had occurred by `valid_at`; None: at any time.

    A memory that was superseded or closed counts as current if what superseded it was created or occurred
    later. A memory forgotten since stays forgotten.
    """

    as_of: datetime | None = None
    valid_at: datetime | None = None

    def __bool__(self) -> bool:
        return self.as_of is not None or self.valid_at is not None

    def sql(self) -> Iterable[str]:
        """Conditions on the record; they keep superseded rows, which `mask` removes."""
        if self.as_of is not None:
            yield f"created_at <= {timestamp(self.as_of)}"
        if self.valid_at is not None:
            yield f"occurred_at <= {timestamp(self.valid_at)}"
        yield "(hidden = false OR deleted_at IS NULL)"

    def admits(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of `record_schema` was created and had occurred by then."""
        known = self.as_of is None or row["created_at"] <= self.as_of
        return known and (self.valid_at is None or row["occurred_at"] <= self.valid_at)

    def mask(self, signals: Signals, versions: Versions, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] existed then and were neither superseded nor are forgotten now."""
        existing: NDArray[np.bool_] = ~signals.hidden[ordinals]
        existing |= versions.is_current(ordinals, as_of=self._as_of, valid_at=self._valid_at)
        return existing & self.reached(signals, ordinals)

    def reached(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] were created and had occurred by then, whether or not they still exist."""
        reached = np.ones(len(ordinals), np.bool_)
        if self._as_of is not None:
            reached &= signals.created_at[ordinals] <= self._as_of
        if self._valid_at is not None:
            reached &= signals.occurred_at[ordinals] <= self._valid_at
        return reached

    def ends(self, signals: Signals, versions: Versions, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Until when `ordinals` [n] hold, as far as was known and had happened then."""
        return versions.ends(ordinals, signals.valid_to[ordinals], as_of=self._as_of, valid_at=self._valid_at)

    @property
    def _as_of(self) -> int | None:
        return None if self.as_of is None else microseconds(self.as_of)

    @property
    def _valid_at(self) -> int | None:
        return None if self.valid_at is None else microseconds(self.valid_at)
