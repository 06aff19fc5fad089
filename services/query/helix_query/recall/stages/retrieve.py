"""Stage 3: searches all channels in parallel, each with its own deadline; failed ones are named.

A search that raises, panics or is late costs its candidates, never the answer. Stage 4 fuses the rankings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_query.metrics import RECALL_DEGRADED
from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import (
    DEFINITION,
    PHRASE_MATCH,
    PREFERENCES,
    PROFILE_FACTS,
    TERM_COVERAGE,
    Ranking,
    Retrieved,
    Route,
)
from helix_query.recall.channels import CALLER_LANE, CHANNELS, TIES_IN_LOG_ORDER, Channel
from helix_query.recall.channels.dense import search_plan
from helix_query.recall.evidence.searches import evidence_searches
from helix_query.recall.preferences.search import preference_hits
from helix_query.recall.profile_facts.search import profile_fact_hits
from helix_query.recall.recipes.extra_searches import ExtraSearch, extra_searches
from helix_query.recall.stages.embed import EmbeddedQuery, embed
from helix_query.scheduling.deadline import raise_if_overdue, seconds_left
from helix_shared.artifacts.hits import Hits
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from helix_query.recall.channels.plan import SearchPlan
    from helix_query.recall.context import RecallContext

Search = Callable[[], Hits]
_CHANNEL: Final[Mapping[str, Channel]] = {channel.name: channel for channel in CHANNELS}
EXTRA_DEADLINES: Final = 3
"""Additional channel deadlines that a recall waits while no channel has answered."""

_log = logger(__name__)


@contextmanager
def prefetch(context: RecallContext, lanes: Mapping[str, Executor]) -> Iterator[Future[Hits] | None]:
    """Run the lexical search, which needs no vector, while the query is embedded; yields None if not wanted.

    Its field weights are those of the intents by rule. On exit it is cancelled if it has not started.
    """
    query = context.query
    wanted = query.mode != "dense" and LEXICAL in context.profile.retrieve.channels
    if not wanted or query.selection.past:
        yield None
        return
    future = lanes[LEXICAL].submit(_prefetched, context)
    try:
        yield future
    finally:
        future.cancel()


def _prefetched(context: RecallContext) -> Hits:
    plan = search_plan(context, context.query.text, lambda: embed(context).vector, context.rule_intents.value)
    return _CHANNEL[LEXICAL].search(context, plan)


def prefetch_valid(context: RecallContext, intents: Sequence[Intent]) -> bool:
    """Whether `prefetch` weighs the lexicon's fields as a query of these intents needs it."""
    fields_for = context.profile.retrieve.fields_for
    return fields_for(intents) == fields_for(context.rule_intents.value)


def retrieve(
    context: RecallContext,
    embedded: EmbeddedQuery,
    route: Route,
    lanes: Mapping[str, Executor],
    deadline_seconds: float,
    prefetched: Future[Hits] | None = None,
) -> Retrieved:
    """Stage 3: search the channels of the profile, in mode dense only the dense one; count failed searches.

    Raises: as `search_all`.
    """
    query, constants = context.query, context.profile.retrieve
    if query.selection.past:
        context.snapshot.prepare_as_of(context.deadline)
    if prefetched is not None and not prefetch_valid(context, route.intents):
        prefetched.cancel()
        prefetched = None

    def run(name: str, plan: SearchPlan) -> Hits:
        return _CHANNEL[name].search(context, plan)

    plan = search_plan(context, query.text, lambda: embedded.vector, route.intents)
    names = (DENSE,) if query.mode == "dense" else constants.channels
    searches: dict[str, Search | Future[Hits]] = {name: partial(run, name, plan) for name in names}
    if prefetched is not None:
        searches[LEXICAL] = prefetched
    until = min(context.deadline, time.monotonic() + deadline_seconds)
    about_caller = _start_caller_searches(replace(context, deadline=until), embedded, route, lanes)
    lead = ClearLead(constants.auto_half_score, constants.auto_min_score, constants.auto_min_lead)
    retrieved = search_all(
        searches,
        extra_searches=() if query.mode == "dense" else extra_searches(context, route, run),
        evidence=evidence_searches(context, route),
        lanes=lanes,
        deadline_seconds=deadline_seconds,
        deadline=context.deadline,
        # The lexicon holds the latest versions alone, so of the past it cannot answer alone.
        clear_lead=lead if query.mode == "auto" and not context.visibility.has_past else None,
    )
    retrieved = _without_invalid(context, _with_ties_in_log_order(context, retrieved))
    retrieved = _add_caller_hits(retrieved, about_caller, until)
    for name in retrieved.degraded:
        RECALL_DEGRADED.labels(name).inc()
    return retrieved if DENSE in names else replace(retrieved, lexical_alone=True)


def _with_ties_in_log_order(context: RecallContext, retrieved: Retrieved) -> Retrieved:
    """`retrieved` with hits of equal score in the order of the log, which a rebuild keeps."""
    rankings = tuple(
        replace(one, hits=one.hits.with_ties_by(context.sequences_of))
        if one.channel in TIES_IN_LOG_ORDER
        else one
        for one in retrieved.rankings
    )
    return replace(retrieved, rankings=rankings)


def _start_caller_searches(
    context: RecallContext, embedded: EmbeddedQuery, route: Route, lanes: Mapping[str, Executor]
) -> dict[str, Future[Hits]]:
    """Start the searches among statements of the caller about themself."""
    lane = lanes[CALLER_LANE]
    return {
        PREFERENCES: lane.submit(preference_hits, context, embedded),
        PROFILE_FACTS: lane.submit(profile_fact_hits, context, embedded, route),
    }


def _add_caller_hits(retrieved: Retrieved, started: Mapping[str, Future[Hits]], until: float) -> Retrieved:
    """`retrieved` with the hits of these searches; those that fail or are late are named in `degraded`."""
    wait(started.values(), timeout=seconds_left(until))
    found = {name: _hits_or_none(name, future) for name, future in started.items()}
    missing = tuple(name for name, hits in found.items() if hits is None)
    return replace(
        retrieved,
        preferences=found.get(PREFERENCES) or None,
        profile_facts=found.get(PROFILE_FACTS) or None,
        degraded=retrieved.degraded + missing,
    )


def _without_invalid(context: RecallContext, retrieved: Retrieved) -> Retrieved:
    """`retrieved` without memories that were not valid at the past moment; not every search checks this."""
    if context.visibility.versions is None:
        return retrieved

    def valid(hits: Hits) -> Hits:
        kept = context.visibility.is_valid_at(hits.ordinals)
        return Hits(hits.ordinals[kept], hits.scores[kept])

    def valid_if_any(hits: Hits | None) -> Hits | None:
        return None if hits is None else valid(hits)

    return replace(
        retrieved,
        rankings=tuple(replace(ranking, hits=valid(ranking.hits)) for ranking in retrieved.rankings),
        phrase_match=valid_if_any(retrieved.phrase_match),
        definition=valid_if_any(retrieved.definition),
        term_coverage=valid_if_any(retrieved.term_coverage),
    )


@dataclass(frozen=True, slots=True)
class ClearLead:
    """Mode auto: when the lexical answer alone is good enough.

    Scores normalise to s / (s + `half_score`); the best must reach `top` and lead by `lead`.
    """

    half_score: float
    top: float
    lead: float

    def is_met_by(self, hits: Hits) -> bool:
        """Whether the best hit is strong and clearly ahead of the second."""
        if not len(hits):
            return False
        best, second = (*(float(score) for score in hits.scores[:2]), 0.0)[:2]
        normalised = best / (best + self.half_score)
        return normalised >= self.top and normalised - second / (second + self.half_score) >= self.lead


def search_all(
    searches: Mapping[str, Search | Future[Hits]],
    *,
    extra_searches: Sequence[ExtraSearch] = (),
    evidence: Mapping[str, Search] | None = None,
    lanes: Mapping[str, Executor],
    deadline_seconds: float,
    clear_lead: ClearLead | None = None,
    deadline: float = math.inf,
) -> Retrieved:
    """The hits of the channels, in the order of `searches`, then of `extra_searches`; and the evidence.

    Waits `deadline_seconds` for all searches. If no channel has succeeded by then, waits up to
    `EXTRA_DEADLINES` times as long again for the first success, however many fail meanwhile. No wait goes
    past `deadline`, a moment of the monotonic clock. With `clear_lead` the lexical channel goes first and may
    make the others unnecessary. A search that was started already is passed as its future.

    Raises:
        OverdueError: no channel answered until `deadline`.
        TemporaryError: no channel answered within its own deadline.
    """
    if clear_lead is not None and LEXICAL in searches:
        first = _start(LEXICAL, searches[LEXICAL], lanes)
        searches = {**searches, LEXICAL: first}
        wait([first], timeout=seconds_left(deadline, most=deadline_seconds))
        if _has_succeeded(first) and clear_lead.is_met_by(first.result()):
            return Retrieved((Ranking(LEXICAL, first.result()),), lexical_alone=True)
    # The query itself goes first, so that it never waits for other words.
    running = [_Running(name, _start(name, search, lanes)) for name, search in searches.items()]
    running += [
        _Running(one.channel, _start(one.channel, one.search, lanes), one.words) for one in extra_searches
    ]
    for_evidence = {name: _start(LEXICAL, search, lanes) for name, search in (evidence or {}).items()}
    _wait_for_searches([one.future for one in running], [*for_evidence.values()], deadline_seconds, deadline)
    found = [(one, _hits_or_none(one.channel, one.future)) for one in running]
    evidence_hits = {name: _hits_or_none(name, future) for name, future in for_evidence.items()}
    rankings = tuple(Ranking(one.channel, hits, one.words) for one, hits in found if hits is not None)
    if not rankings:
        raise_if_overdue(deadline)
        raise TemporaryError("no channel answered: each failed or was too late; try again")
    missing = [one.channel for one, hits in found if hits is None]
    missing += [name for name, hits in evidence_hits.items() if hits is None]
    return Retrieved(
        rankings,
        phrase_match=evidence_hits.get(PHRASE_MATCH),
        definition=evidence_hits.get(DEFINITION),
        term_coverage=evidence_hits.get(TERM_COVERAGE),
        degraded=tuple(dict.fromkeys(missing)),
    )


class _Running(NamedTuple):
    """A search of a channel that was started, for the query itself or for other `words`."""

    channel: str
    future: Future[Hits]
    words: str = ""


def _start(name: str, search: Search | Future[Hits], lanes: Mapping[str, Executor]) -> Future[Hits]:
    return search if isinstance(search, Future) else lanes[name].submit(search)


def _wait_for_searches(
    searches: Sequence[Future[Hits]],
    evidence: Sequence[Future[Hits]],
    deadline_seconds: float,
    deadline: float,
) -> None:
    """Return when all searches are done or late; if none of `searches` has succeeded by then, wait longer.

    The longer wait ends with the first success, or after `EXTRA_DEADLINES`; a failed search does not end it.
    """
    latest = min(time.monotonic() + deadline_seconds * (1 + EXTRA_DEADLINES), deadline)
    late = wait([*searches, *evidence], timeout=seconds_left(deadline, most=deadline_seconds)).not_done
    while not any(map(_has_succeeded, searches)) and (remaining := seconds_left(latest)):
        late = late.intersection(searches)
        if not late:
            return
        late = wait(late, timeout=remaining, return_when=FIRST_COMPLETED).not_done


def _has_succeeded(future: Future[Hits]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _hits_or_none(name: str, future: Future[Hits]) -> Hits | None:
    if _has_succeeded(future):
        return future.result()
    # The message may quote the query; the kind of error says enough.
    error = TimeoutError() if future.cancel() or not future.done() else future.exception()
    _log.warning("channel_missing", channel=name, error=type(error).__name__)
    return None
