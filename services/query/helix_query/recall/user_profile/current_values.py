"""Leaves out earlier statements about home, work or partner that a newer one replaced.

If a fact has one value at a time (`single_values`), the latest counts. The replacement is sure if the later
statement says that it is new, or was made on another day. Ambiguous words ("I moved to Vim") need a link that
consolidation decided and the name of a place. A value that allows others ("also", "part-time", "for the
summer") neither replaces nor is replaced. A replacement that somebody undid is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_query.recall.user_profile.single_values import values_of, without_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix_query.recall.user_profile.lines import Statement
    from helix_query.recall.user_profile.links import Links
    from helix_query.recall.user_profile.single_values import FactValue

SAME_OCCASION: Final = timedelta(hours=12)
"""Two values of one occasion are two views of one thing ("in Berlin", "in Kreuzberg")."""
MIN_AMBIGUOUS_LINK: Final = 0.08
"""Least probability of a link for ambiguous words; below it none is kept."""

IsPlace = Callable[[str], bool]


class StatedValue(NamedTuple):
    """A value, and the statement that states it."""

    value: FactValue
    by: Statement


def with_current_values(
    latest_first: Sequence[Statement], links: Links, is_place: IsPlace
) -> list[Statement]:
    """The statements without the sentences, or clauses, whose values a later statement replaced."""
    later: dict[tuple[str, str], list[StatedValue]] = {}
    kept: list[Statement] = []
    for one in latest_first:
        stated = [(sentence, values_of(sentence, one.occurred_at.year)) for sentence in one.sentences]
        left = [
            without_values(sentence, [value for value in values if _is_outdated(value, one, later, links)])
            for sentence, values in stated
        ]
        for value in (value for _, values in stated for value in values):
            if value.is_ambiguous and not any(map(is_place, value.names)):
                continue
            later.setdefault((one.speaker, value.fact), []).append(StatedValue(value, one))
        if sentences := tuple(filter(None, left)):
            kept.append(replace(one, sentences=sentences))
    return kept


def _is_outdated(
    value: FactValue, one: Statement, later: Mapping[tuple[str, str], Sequence[StatedValue]], links: Links
) -> bool:
    if value.allows_others or value.ends_value:
        return False
    rivals = list(later.get((one.speaker, value.fact), ()))
    if value.fact == "address":
        rivals += [said for said in later.get((one.speaker, "home"), ()) if said.value.is_new_value]
    for newer, by in rivals:
        if newer.allows_others or by.sequence == one.sequence:
            continue
        if newer.ends_value:
            if (by.ordinal, one.ordinal) not in links.undone and not (newer.names and value.differs(newer)):
                return True
            continue
        if not value.differs(newer):
            return False
        if _replaces(newer, by, one, links):
            return True
    return False


def _replaces(newer: FactValue, by: Statement, one: Statement, links: Links) -> bool:
    """Whether a later, other value surely takes the place of that of `one`."""
    pair = by.ordinal, one.ordinal
    if pair in links.undone:
        return False
    if newer.is_ambiguous:
        return links.updates.get(pair, 0.0) >= MIN_AMBIGUOUS_LINK
    return newer.is_new_value or by.occurred_at - one.occurred_at >= SAME_OCCASION
