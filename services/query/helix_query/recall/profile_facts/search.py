"""Current statements of the caller's name, home, work, partner or age, of all, or of what is to come.

"Where do I live?" shares fewer words with "Settled in Porto in spring" than with a plan to move. A caller has
few statements of this kind, and it is known which of them hold (`user_profile`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.past_question import PastQuestion
from helix_query.recall.query_text import read_query
from helix_query.recall.user_profile.current_values import with_current_values
from helix_query.recall.user_profile.links import Links
from helix_query.recall.user_profile.merge import MIN_LEFT_OUT_PROBABILITY
from helix_query.recall.user_profile.single_values import values_of
from helix_query.recall.user_profile.statements import chosen_of, statements_of
from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.about import AUTHOR
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_query.recall.candidates import Route
    from helix_query.recall.context import RecallContext
    from helix_query.recall.stages.embed import EmbeddedQuery
    from helix_query.recall.user_profile.lines import Statement

HOME: Final = "home"
SELF: Final = "self"
"""Key of the questions for whatever is known of the caller."""
UPCOMING: Final = "ahead"
"""Key of the questions for what is to come, of no named day."""
MOST_STATEMENTS: Final = 8
"""Statements that a question for `SELF` is given, the latest; or one for `UPCOMING`, the next."""
_ME: Final = re.compile(r"\b(?:me|myself|my profile)\b", re.IGNORECASE)
MIN_QUESTION_VALUE: Final = 0.3
"""Value of `FactQuestions.asked_fact` up to which a question does not ask for the fact."""
SURE_QUESTION_VALUE: Final = 0.5
"""Value from which it surely does. Of 2,820 questions of the sets 11 reach it, and all 11 ask for it."""


def profile_fact_hits(context: RecallContext, embedded: EmbeddedQuery, route: Route) -> Hits:
    """The caller's statements of the fact that is asked for, as far as they hold.

    The score, at most 1, is how surely the question asks for it. None where it asks for no such fact of the
    caller, or about earlier times, or where the caller has stated none.
    """
    questions = context.snapshot.centroids.fact_questions
    if not context.profile.rank.profile_fact_gain or questions is None or context.query.mode == "dense":
        return Hits.none()
    asked, text = route.asked_person, read_query(context.query.text)
    is_own, names_me = asked is not None and asked.kind == AUTHOR, _ME.search(text) is not None
    may_be_ahead = (asked is None or is_own) and not route.names_something and route.window is None
    if route.past_question is not PastQuestion.NO or not (is_own or names_me or may_be_ahead):
        return Hits.none()
    # example questions are compared without the query adapter (0053)
    fact, value = questions.asked_fact(embedded.plain)
    wanted = {SELF: names_me, UPCOMING: may_be_ahead}
    share = float(
        np.clip((value - MIN_QUESTION_VALUE) / (SURE_QUESTION_VALUE - MIN_QUESTION_VALUE), 0.0, 1.0)
    )
    stating = _stating(context, fact) if share and wanted.get(fact, is_own) else []
    if not stating:
        return Hits.none()
    scores = np.full(len(stating), share, np.float32)
    return Hits.ranked(np.array(stating, np.int64), scores, limit=len(stating))


def _stating(context: RecallContext, fact: str) -> list[int]:
    """Ordinals of the current statements of `fact` by speaker: those that hold together, else the latest.

    Of `SELF`, the latest statements of any; of `UPCOMING`, the next of those with a time to come. If the
    latest statement says that a value holds no longer ("I quit my job"), it is the current one.
    """
    holding = _holding(context, fact)
    if fact == SELF:
        return [one.ordinal for one in holding[:MOST_STATEMENTS]]
    if fact == UPCOMING:
        return _next(context, [one.ordinal for one in holding])
    found: list[int] = []
    told: set[str] = set()
    for one in holding:
        if one.speaker in told:
            continue
        values = [
            value
            for sentence in one.sentences
            for value in values_of(sentence, one.occurred_at.year)
            if value.fact == fact
        ]
        if values:
            found.append(one.ordinal)
        if any(not value.allows_others for value in values):
            told.add(one.speaker)
    return found


def _next(context: RecallContext, ordinals: list[int]) -> list[int]:
    """Those of `ordinals` whose time is not over: the next to begin, or to end, first."""
    signals, moment = context.generation.signals, context.query.selection.past.valid_at
    now = microseconds(moment or context.visibility.moment)
    starts = signals.event_start[ordinals]
    ends = np.maximum(starts, signals.event_end[ordinals])
    coming = np.flatnonzero((starts != NO_TIME) & (ends > now))
    soonest = np.where(starts[coming] > now, starts[coming], ends[coming])
    best = coming[np.argsort(soonest, kind="stable")[:MOST_STATEMENTS]]
    return [ordinals[at] for at in best]


def _holding(context: RecallContext, fact: str) -> Sequence[Statement]:
    """The caller's own statements about themself without replaced values of `fact`, the latest first."""
    snapshot, visibility = context.snapshot, context.visibility
    moment = context.query.selection.past.valid_at or visibility.moment
    chosen = chosen_of(snapshot, visibility, moment, deadline=context.deadline)
    statements = sorted(
        statements_of(snapshot, visibility.selection, chosen),
        key=lambda one: (one.occurred_at, one.sequence, not one.is_derived, one.ordinal),
        reverse=True,
    )
    links = Links.of(snapshot.generation, statements, visibility.selection.past)
    replaced = links.replaced()

    @cache
    def is_place(name: str) -> bool:
        """Only a home is a place, and each name is a run of the model."""
        raise_if_overdue(context.deadline)
        return fact in (HOME, SELF) and snapshot.centroids.is_place(snapshot.encoder.embed_query(name))

    holding = [one for one in statements if replaced.get(one.ordinal, 0.0) < MIN_LEFT_OUT_PROBABILITY]
    return with_current_values(holding, links, is_place)
