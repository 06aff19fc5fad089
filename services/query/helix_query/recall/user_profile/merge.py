"""Joins statements that say the same, and drops those that a later one replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from helix_query.recall.user_profile.current_values import with_current_values
from helix_query.recall.user_profile.lines import MergedStatement
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.text.negations import denies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_query.recall.user_profile.current_values import IsPlace
    from helix_query.recall.user_profile.lines import Statement
    from helix_query.recall.user_profile.links import Links

SAME_WORDS: Final = 0.6
"""Jaccard similarity of the stems of two statements that say the same, or the opposite."""
MIN_LEFT_OUT_PROBABILITY: Final = 0.5
"""Probability of an UPDATES link from which the older statement is left out; below, it counts less.

Decision 0041 set it.
"""
GAIN_PER_REPETITION: Final = 0.1
"""What each repetition adds to a score, as a share, three times at most."""


def merged(statements: Iterable[Statement], links: Links, is_place: IsPlace) -> list[MergedStatement]:
    """The statements to show, best first; equal scores by id, whatever the order of `statements`.

    A derived statement is shown instead of its verbatim memory; both are cited. If one speaker says something
    twice in the same words, the later statement is shown; it cites the earlier one unless it denies it. Only
    the latest home, employer and partner are shown (`current_values`).
    """
    latest_first = sorted(
        statements,
        key=lambda one: (one.occurred_at, one.sequence, one.is_derived, one.memory_id),
        reverse=True,
    )
    replaced = links.replaced()
    holding = [one for one in latest_first if replaced.get(one.ordinal, 0.0) < MIN_LEFT_OUT_PROBABILITY]
    kept: list[tuple[MergedStatement, frozenset[str], bool]] = []
    for one in with_current_values(holding, links, is_place):
        probability = replaced.get(one.ordinal, 0.0)
        words, is_denial = frozenset(stems(one.text)), denies(one.text)
        place = next(
            (n for n, (line, said, _) in enumerate(kept) if _is_same(one, words, line.statement, said)), None
        )
        if place is None:
            weighed = replace(one, score=one.score * (1.0 - probability))
            kept.append((MergedStatement(weighed, (one.memory_id,)), words, is_denial))
        elif kept[place][2] == is_denial:
            kept[place] = (_joined(kept[place][0], one), *kept[place][1:])
    lines = [line for line, *_ in kept]
    return sorted(lines, key=lambda line: (-line.statement.score, line.statement.memory_id))


def _is_same(one: Statement, words: frozenset[str], other: Statement, others: frozenset[str]) -> bool:
    if one.part is not other.part or one.speaker != other.speaker:
        return False
    if one.sequence == other.sequence and (one.is_derived or other.is_derived):
        return True
    together = len(words | others)
    return together > 0 and len(words & others) >= SAME_WORDS * together


def _joined(line: MergedStatement, earlier: Statement) -> MergedStatement:
    """The line, said once more before."""
    if earlier.memory_id in line.memory_ids:
        return line
    shown = line.statement
    more = GAIN_PER_REPETITION if len(line.memory_ids) <= 3 else 0.0  # noqa: PLR2004 - three repetitions
    score = max(shown.score, earlier.score) * (1.0 + more)
    facets = tuple(dict.fromkeys((*shown.facets, *earlier.facets)))
    return MergedStatement(replace(shown, score=score, facets=facets), (*line.memory_ids, earlier.memory_id))
