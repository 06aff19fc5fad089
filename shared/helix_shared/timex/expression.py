"""The result of this package: a time expression; and the ends of an open window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from helix_memory import limits

Grain = Literal["second", "minute", "hour", "day", "week", "month", "season", "quarter", "year", "range"]
Direction = Literal["past", "future", "present", "absolute"]
Certainty = Literal["stated", "guessed", "open"]

EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
"""Start of a window without a start ("before 2021")."""
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
"""End of a window without an end ("after 2021")."""


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One time expression of a text and its window [start, end).

    Attributes:
        start: First moment, UTC.
        end: First moment after it, UTC; always later than `start`.
        text: The expression as written, without the preposition before it ("in", "on", "since"), but with
            the words that change its meaning ("last", "in" of "in two days", "from" of a range).
        span: Half-open character offsets of `text`.
        grain: The unit the window is one of (a calendar unit, or one of its length: "the week before May");
            "range" for everything else (a weekend, a morning,
            "the last three days", "from A to B", "a few weeks ago").
        direction: "absolute" if the window does not depend on the reference; otherwise whether it is before,
            after, or around it.
        certainty: "stated" if the words or the tense of the clause determine the day; "guessed" if a default
            does ("Dentist on 2 April" is in the future); "open" if the day is unclear, and the window is the
            nearest one before the reference.
    """

    start: datetime
    end: datetime
    text: str
    span: tuple[int, int]
    grain: Grain
    direction: Direction
    certainty: Certainty = "stated"

    @property
    def is_storable(self) -> bool:
        """Whether a memory may have it as event time: both ends lie in the years that an event may state.

        "0001-01-01" and "9999-12-31" mean no time in many logs, and not every zone can represent them.
        """
        return self.start.year > limits.FIRST_YEAR and self.end.year <= limits.LAST_YEAR
