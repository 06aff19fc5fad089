"""Seconds and spans of the stages of one recall, and the deadline checked before each of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Self

from helix_query.metrics import STAGE_SECONDS
from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.telemetry.tracing import spans

if TYPE_CHECKING:
    from prometheus_client import Histogram


@dataclass(slots=True)
class Stopwatch:
    """Times stages that do not overlap, in the order they run."""

    deadline: float
    """A moment of the monotonic clock; no stage begins after it."""
    seconds: list[tuple[str, float]] = field(default_factory=list)
    _stage: str = ""
    _started: float = 0.0

    def __call__(self, stage: str) -> Self:
        """Time one stage: `with stopwatch("fuse"):`.

        Raises:
            OverdueError: on entry, where the deadline has passed.
        """
        self._stage = stage
        return self

    def __enter__(self) -> None:
        raise_if_overdue(self.deadline)
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = time.perf_counter() - self._started
        self.seconds.append((self._stage, elapsed))
        _seconds_of(self._stage).observe(elapsed)
        if spans.is_on():
            now = time.time_ns()
            spans.record(self._stage, spans.INTERNAL, now - int(elapsed * 1e9), now, {}, parent=spans.here())


@cache
def _seconds_of(stage: str) -> Histogram:
    """The histogram of one stage; looking it up by label costs more than observing."""
    return STAGE_SECONDS.labels(stage)
