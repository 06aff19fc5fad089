"""Which user said a memory that everyone may recall; no column of the signals has it.

It is read from the records of memories, about 10 us each, and kept from generation to generation: a memory
keeps its ordinal and its user. Callers check the record again, so nothing is shown by what is kept here.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.artifacts.signals.columns import code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals

BATCH_RECORDS: Final = 512
"""Records that are read between two looks at the deadline."""
_UNREAD: Final = -1


class Authors:
    """Codes of users by ordinal, of the memories that somebody asked for; safe for several threads."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._codes = np.empty(0, np.int64)

    def of(
        self, ordinals: NDArray[np.int64], signals: Signals, *, deadline: float = math.inf
    ) -> NDArray[np.int64]:
        """Codes of the users of `ordinals` [n]; 0: of none, or the memory was erased before it was read.

        Raises:
            OverdueError: `deadline`, a moment of the monotonic clock, has passed; what was read is kept.
        """
        self._grow(int(ordinals.max(initial=-1)) + 1)
        unread = ordinals[self._codes[ordinals] == _UNREAD]
        for start in range(0, len(unread), BATCH_RECORDS):
            raise_if_overdue(deadline)
            some = unread[start : start + BATCH_RECORDS]
            users = {line["ordinal"]: code(line["user_id"]) for line in signals.records(some)}
            with self._lock:
                self._codes[some] = [users.get(ordinal, 0) for ordinal in some.tolist()]
        return self._codes[ordinals]

    def _grow(self, size: int) -> None:
        with self._lock:
            missing = size - len(self._codes)
            if missing > 0:
                more = np.full(max(missing, len(self._codes) // 4), _UNREAD, np.int64)
                self._codes = np.concatenate([self._codes, more])
