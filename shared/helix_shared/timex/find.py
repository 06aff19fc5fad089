"""Finds the time expressions of a text; used by ingest."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from helix_shared.timex.expression import TimeExpression
from helix_shared.timex.reading import Passage, Reading
from helix_shared.timex.rules.ranges import joined
from helix_shared.timex.rules.scan import readings
from helix_shared.timex.rules.simple import TRIGGER
from helix_shared.timex.windows import frame_of
from helix_shared.timex.words import fold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo


def find_time_expressions(
    text: str, reference: datetime, *, limit: int = 8, zone: tzinfo | None = None
) -> list[TimeExpression]:
    """Return the first `limit` time expressions of a text: ordered, disjoint, the longest at each place.

    Days begin at midnight in `zone`, by default the zone of the reference; a naive reference is UTC. Linear
    in the length of the text. Dates that do not exist are ignored.
    """
    found = islice(passage_and_readings(text, reference, zone), max(limit, 0))
    return [_expression(passage, reading) for passage, reading in found]


def passage_and_readings(
    text: str, reference: datetime, zone: tzinfo | None = None, *, asks: bool = False
) -> Iterator[tuple[Passage, Reading]]:
    """Yield the readings of a text, each with its passage."""
    folded = fold(text)
    trigger = TRIGGER.search(folded)
    if trigger is None:
        return
    passage = Passage(text, folded, frame_of(reference, zone), asks)
    for reading in joined(passage, readings(passage, trigger)):
        yield passage, reading


def _expression(passage: Passage, reading: Reading) -> TimeExpression:
    """Return a reading as a `TimeExpression`."""
    start, end = reading.window
    return TimeExpression(
        start=start,
        end=end,
        text=passage.text[slice(*reading.span)],
        span=reading.span,
        grain=reading.grain,
        direction=reading.direction(passage.frame),
        certainty=reading.certainty,
    )
