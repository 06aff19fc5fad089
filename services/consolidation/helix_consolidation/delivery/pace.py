"""The intervals of applying and publishing, which grow with the number of waiting events.

Every batch and every generation has a fixed cost (a batch of 5 events costs the writer 13 ms an event, one of
80 events 2 ms), and takes processor time from ingest. An event with hundreds before it in the log waits for
ingest anyway. The intervals grow and shrink with that number, so the last event of a backlog is recallable as
soon as a single event would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from helix_consolidation.ledger.sequences import ProcessedSequences
    from helix_consolidation.settings import ConsolidationSettings

SECONDS_PER_EVENT: Final = 0.025
"""Growth of the intervals for each waiting event: the time ingest takes for one on two cores."""

OVERDUE_SECONDS: Final = 60.0
"""Time past the longest interval after which the writer is not ready while changes wait for a generation."""


@dataclass(slots=True)
class Interval:
    """Time between two runs of something, by the monotonic clock."""

    every_seconds: float
    last: float

    def is_due(self, now: float) -> bool:
        """Whether the interval has passed since the last run."""
        return now - self.last >= self.every_seconds


class GenerationAge:
    """How long something has waited for a generation, by the monotonic clock."""

    def __init__(self, settings: ConsolidationSettings, now: float) -> None:
        self._idle_at = self._published_at = now
        self.longest_seconds = max(settings.publish_interval_seconds, settings.backlog_interval_seconds)
        """Longest time between two generations that the settings ask for."""

    def published(self, now: float) -> None:
        """A generation was published."""
        self._published_at = now

    def problem(self, now: float, *, is_waiting: bool) -> str:
        """Why the writer is not ready; empty: it is."""
        if not is_waiting:
            self._idle_at = now
        waited = now - max(self._idle_at, self._published_at)
        is_overdue = waited > self.longest_seconds + OVERDUE_SECONDS
        return f"nothing was published for {waited:.0f} s" if is_overdue else ""


@dataclass(frozen=True, slots=True)
class Pace:
    """Minimum seconds between two batches, unless one is full, and between two generations."""

    apply_seconds: float
    publish_seconds: float


def pace_of(settings: ConsolidationSettings, *, events_to_come: int) -> Pace:
    """The pace for a number of `events_to_come`."""
    stretched = min(settings.backlog_interval_seconds, events_to_come * SECONDS_PER_EVENT)
    return Pace(
        max(settings.apply_interval_seconds, stretched),
        max(settings.publish_interval_seconds, stretched),
    )


def events_to_come(applied: ProcessedSequences, log_end: int, *, here: int) -> int:
    """Number of events up to `log_end` that are neither applied nor among the `here` events fetched.

    Every applied event counts, also above a gap: one slow event does not make the later ones a backlog.
    """
    return max(0, log_end - applied.count - here)
