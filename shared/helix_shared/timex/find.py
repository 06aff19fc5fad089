"""The door for ingest: every time expression of a text."""

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
    """Return the first `limit` time expressions of a text, in order, apart, the longest at each place.

    Days begin at midnight of `zone`, or of the reference's own zone where none is given; a naive reference is
    UTC. Linear in the length of the text; what looks like a date but does not exist is left out.
    """
    found = islice(passage_and_readings(text, reference, zone), max(limit, 0))
    return [_expression(passage, reading) for passage, reading in found]


def passage_and_readings(
    text: str, reference: datetime, zone: tzinfo | None = None
) -> Iterator[tuple[Passage, Reading]]:
    """Yield the readings of a text with the passage they were read from."""
    folded = fold(text)
    trigger = TRIGGER.search(folded)
    if trigger is None:
        return
    passage = Passage(text, folded, frame_of(reference, zone))
    for reading in joined(passage, readings(passage, trigger)):
        yield passage, reading


def _expression(passage: Passage, reading: Reading) -> TimeExpression:
    """Return the public form of a reading."""
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
