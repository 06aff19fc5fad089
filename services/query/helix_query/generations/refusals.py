"""Generations that are not served: why, and when they are tried again."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from helix_query.generations.prober import CrashedError
from helix_query.metrics import GENERATIONS_REJECTED
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.errors import CorruptArtifactError, NotFoundError, TemporaryError, naming_rebuild
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

RETRY_SECONDS: Final = 30.0
"""Wait before a generation that failed for lack of memory, disk or time is tried again."""

NO_GENERATION: Final = (
    "no generation yet: consolidation publishes the first one when it starts; start it, for example with "
    "`helix up`, or see its log"
)

_log = logger(__name__)


class Refusals:
    """The refused generations of a data folder; one thread changes it, any thread asks `reason`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._until: dict[int, float] = {}
        self._logged: dict[int, str] = {}
        """The reason last logged for each generation; replaced as a whole, because other threads read it."""

    def reason(self) -> str:
        """Why nothing is served: what is wrong with the newest generation."""
        logged = self._logged
        if not logged:
            return NO_GENERATION
        newest = max(logged)
        return f"generation {newest} is not served: {logged[newest]}"

    def is_refused(self, number: int) -> bool:
        """Whether a generation is not to be tried now."""
        return time.monotonic() < self._until.get(number, 0.0)

    def clear(self) -> None:
        """Forget them: a generation is served."""
        self._until.clear()

    def refuse(self, number: int, error: BaseException) -> None:
        """Log and count the failure of a generation, and say when it is tried again."""
        if isinstance(error, NotFoundError):
            # The model may be installed later: logged once a generation, tried at every poll.
            self._log_once(number, str(error), "model")
        elif isinstance(error, TemporaryError | OSError | MemoryError):
            # The machine may recover; loading is too expensive to repeat at every poll.
            self._block(number, error, "machine", seconds=RETRY_SECONDS)
        else:
            kind = "crash" if isinstance(error, CrashedError) else "damaged"
            self._block(number, error, kind, seconds=math.inf)

    def _block(self, number: int, error: BaseException, kind: str, *, seconds: float) -> None:
        # The folder may have been retired meanwhile, which is not a failure.
        if folder_of(self._root, number).is_dir():
            self._until[number] = time.monotonic() + seconds
            reason = naming_rebuild(error) if isinstance(error, CorruptArtifactError) else str(error)
            self._log_once(number, f"{type(error).__name__}: {reason}", kind)

    def _log_once(self, number: int, reason: str, kind: str) -> None:
        if self._logged.get(number) == reason:
            return
        there = {one: why for one, why in self._logged.items() if folder_of(self._root, one).is_dir()}
        self._logged = there | {number: reason}
        GENERATIONS_REJECTED.labels(kind).inc()
        _log.error("generation_refused", generation=number, reason=reason)
