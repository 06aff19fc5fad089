"""Leaves out what a user said of their home, work or partner before they said something newer.

If a fact has one value at a time (`single_values`), the latest counts. The replacement is sure if the later
statement says that it is new, or was made on another day; words that are also said of other things ("I moved
to Vim") need a link that consolidation decided and the name of a place. A value beside others ("also",
"part-time", "for the summer") neither replaces nor is replaced, and what somebody undid is not done again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from helix_query.recall.user_profile.single_values import values_of, without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix_query.recall.user_profile.lines import Statement
    from helix_query.recall.user_profile.links import Links
    from helix_query.recall.user_profile.single_values import Value

SAME_OCCASION: Final = timedelta(hours=12)
"""Two values of one occasion are two views of one thing ("in Berlin", "in Kreuzberg")."""
OPEN_LINK: Final = 0.08
"""Least probability of a link for words that are also said of other things; below it none is kept."""

Said = tuple["Value", "Statement"]
IsPlace = Callable[[str], bool]


def with_current_values(
    latest_first: Sequence[Statement], links: Links, is_place: IsPlace
) -> list[Statement]:
    """The statements without the sentences, or clauses, whose values a later statement replaced."""
    later: dict[tuple[str, str], list[Said]] = {}
    kept: list[Statement] = []
    for one in latest_first:
        stated = [(sentence, values_of(sentence, one.occurred_at.year)) for sentence in one.sentences]
        left = [
            without(sentence, [value for value in values if _is_outdated(value, one, later, links)])
            for sentence, values in stated
        ]
        for value in (value for _, values in stated for value in values):
            if value.is_open and not any(map(is_place, value.names)):
                continue
            later.setdefault((one.speaker, value.fact), []).append((value, one))
        if sentences := tuple(filter(None, left)):
            kept.append(replace(one, sentences=sentences))
    return kept


def _is_outdated(
    value: Value, one: Statement, later: Mapping[tuple[str, str], Sequence[Said]], links: Links
) -> bool:
    if value.is_beside or value.is_end:
        return False
    rivals = list(later.get((one.speaker, value.fact), ()))
    if value.fact == "address":
        rivals += [said for said in later.get((one.speaker, "home"), ()) if said[0].is_change]
    for newer, by in rivals:
        if newer.is_beside or by.sequence == one.sequence:
            continue
        if newer.is_end:
            if (by.ordinal, one.ordinal) not in links.undone and not (newer.names and value.differs(newer)):
                return True
            continue
        if not value.differs(newer):
            return False
        if _replaces(newer, by, one, links):
            return True
    return False


def _replaces(newer: Value, by: Statement, one: Statement, links: Links) -> bool:
    """Whether a later, other value surely takes the place of that of `one`."""
    pair = by.ordinal, one.ordinal
    if pair in links.undone:
        return False
    if newer.is_open:
        return links.updates.get(pair, 0.0) >= OPEN_LINK
    return newer.is_change or by.occurred_at - one.occurred_at >= SAME_OCCASION
