"""A past moment: what existed then and had not been superseded (ops/decisions/0011).

The lexicon holds no time of creation; the query service passes it the ordinals (`OrdinalSet`) instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helix_shared.artifacts.filter.sql import timestamp
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from helix_shared.artifacts.filter.versions import Versions
    from helix_shared.artifacts.signals.reader import Signals


@dataclass(frozen=True, slots=True)
class AsOf:
    """Selects what was created by `moment`; a memory forgotten since stays forgotten."""

    moment: datetime

    def sql(self) -> Iterable[str]:
        """Conditions on the record; they keep superseded rows, which `mask` judges."""
        return (f"created_at <= {timestamp(self.moment)}", "(hidden = false OR deleted_at IS NULL)")

    def admits(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of `record_schema` was created by then."""
        created_at: datetime = row["created_at"]
        return created_at <= self.moment

    def mask(self, signals: Signals, versions: Versions, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] existed then and were neither superseded nor are forgotten now."""
        moment = microseconds(self.moment)
        existing: NDArray[np.bool_] = ~signals.hidden[ordinals]
        existing |= versions.is_current_at(ordinals, moment)
        existing &= signals.created_at[ordinals] <= moment
        return existing
