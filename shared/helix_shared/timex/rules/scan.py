"""Walks a text from trigger to trigger and takes the longest reading at each; `ranges` runs afterwards."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from helix_shared.timex.rules.composed import composed_at
from helix_shared.timex.rules.simple import TRIGGER, simple_at
from helix_shared.timex.windows import hours, local_date
from helix_shared.timex.words import DAY_PARTS, S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix_shared.timex.reading import Passage, Reading

_DAY_PART = re.compile(rf"(?:{S}(?:in{S}the{S})?|,\s)(morning|afternoon|evening|night)\b")


def readings(passage: Passage, trigger: re.Match[str] | None) -> Iterator[Reading]:
    """Yield the readings from a first trigger on, in order and without overlaps, weak ones too."""
    while trigger:
        reading = _longest_at(passage, trigger)
        if reading:
            yield reading
        trigger = TRIGGER.search(passage.folded, reading.span[1] if reading else trigger.start() + 1)


def _longest_at(passage: Passage, trigger: re.Match[str]) -> Reading | None:
    """Return the longest reading that begins at a trigger, with the part of the day behind it."""
    simple, composed = simple_at(passage, trigger), composed_at(passage, trigger)
    reading = composed if composed and (simple is None or composed.span[1] > simple.span[1]) else simple
    return _with_day_part(passage, reading) if reading and reading.grain == "day" else reading


def _with_day_part(passage: Passage, reading: Reading) -> Reading:
    """Narrow a day by the part of it named behind ("yesterday morning")."""
    match = _DAY_PART.match(passage.folded, reading.span[1])
    if not match:
        return reading
    try:
        window = hours(passage.frame, local_date(passage.frame, reading.window[0]), *DAY_PARTS[match[1]])
    except (ValueError, OverflowError):  # the night of the last day of the calendar
        return reading
    return replace(reading, window=window, span=(reading.span[0], match.end()), grain="range")
