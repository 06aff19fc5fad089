"""Which year is meant by a form that recurs every year: the one that it names, else the one implied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.timex.reading import Passage, Reading
from helix_shared.timex.tense import Implied, implied
from helix_shared.timex.windows import Window, yearly
from helix_shared.timex.words import year_number

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from helix_shared.timex.expression import Grain

STEP: Final[dict[str, int]] = {"last": -1, "this": 0, "the": 0, "next": 1}
"""Units between the reference and what a word points to."""


def _year_of(passage: Passage, match: re.Match[str]) -> int | None:
    """Return the year a match names ("2024", "last year"), or None when it names none."""
    groups = match.groupdict()
    if groups["year"]:
        return year_number(groups["year"], passage.frame.today)
    if groups["when"]:
        return passage.frame.today.year + STEP[groups["when"]]
    return None


def in_year(
    passage: Passage,
    match: re.Match[str],
    grain: Grain,
    make: Callable[[int], Window],
    *,
    is_new: bool = False,
) -> Reading:
    """Return the reading of a form that recurs every year, with the year named or implied.

    `is_new`: it is the time to which something was moved.
    """
    year = _year_of(passage, match)
    if year is not None:
        return Reading(make(year), match.span(), grain, fixed=not match["when"])
    which, certainty = Implied("near", "guessed") if is_new else implied(passage, match.span())
    window = yearly(passage.frame, make, which)
    return Reading(window, match.span(), grain, cycle="year", certainty=certainty)
