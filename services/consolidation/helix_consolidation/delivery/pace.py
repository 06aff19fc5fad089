"""How often the writer applies and publishes: soon while events are few, less often the more of them wait.

Every batch and every generation has a fixed cost (a batch of 5 events costs the writer 13 ms an event, one of
80 events 2 ms), and takes its processor time from ingest. An event that has hundreds before it in the log
waits for ingest anyway. The intervals grow with that number and shrink with it, so the last event of a
backlog is recallable as soon as a single one is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from helix_consolidation.ledger.sequences import ProcessedSequences
    from helix_consolidation.settings import ConsolidationSettings

SECONDS_PER_EVENT: Final = 0.025
"""Of the intervals for each waiting event: what ingest takes for one on two cores, so no wait doubles."""


@dataclass(slots=True)
class Due:
    """Something to be done every so often, by the monotonic clock."""

    every_seconds: float
    last: float

    def is_due(self, now: float) -> bool:
        """Whether it is time."""
        return now - self.last >= self.every_seconds


@dataclass(frozen=True, slots=True)
class Pace:
    """Least seconds between two batches, unless one is full, and between two generations."""

    apply_seconds: float
    publish_seconds: float


def pace_of(settings: ConsolidationSettings, *, events_to_come: int) -> Pace:
    """The pace while `events_to_come` events of the log have not reached the writer, see there."""
    stretched = min(settings.backlog_interval_seconds, events_to_come * SECONDS_PER_EVENT)
    return Pace(
        max(settings.apply_interval_seconds, stretched),
        max(settings.publish_interval_seconds, stretched),
    )


def events_to_come(applied: ProcessedSequences, log_end: int, *, here: int) -> int:
    """Events of a log up to `log_end` that are neither applied nor among the `here` events that wait to be.

    What is applied counts wherever it stands: one event that takes long says nothing of those behind it.
    """
    return max(0, log_end - applied.processed - here)
