"""Cost of a part: whole recalls with and without it, one right after the other, on the same questions.

The query service's own recall is timed. The vector of a question is cached after its first recall, so
embedding is in no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from helix_lab.measures.intervals import intervals
from helix_lab.sets.data import Question
from helix_lab.sets.direct import DirectCorpus
from helix_query.profile.profile import RankingProfile

REPEATS: Final = 3
"""Repeats of each recall; the fastest counts, since cold caches and other load only add time."""
WHOLE: Final = "timed-whole"
WITHOUT: Final = "timed-without"


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds a recall takes with a part minus without it: mean over questions, 95 % interval."""

    milliseconds: float
    low: float
    high: float


def cost(
    corpus: DirectCorpus,
    questions: Sequence[Question],
    whole: RankingProfile,
    without: RankingProfile,
    *,
    top_k: int,
) -> Cost:
    """What `without` saves on `questions`, of which there is at least one."""
    timed = replace(corpus, profiles={**corpus.profiles, WHOLE: whole, WITHOUT: without})
    differences = {}
    for question in questions:
        rounds = [
            [timed.ask(question, name, top_k=top_k).milliseconds for name in (WHOLE, WITHOUT)]
            for _ in range(REPEATS)
        ]
        with_it, without_it = (min(times) for times in zip(*rounds, strict=True))
        differences[question.id] = {"ms": with_it - without_it}
    low, high = intervals(differences)["ms"]
    return Cost(fmean(row["ms"] for row in differences.values()), low, high)
