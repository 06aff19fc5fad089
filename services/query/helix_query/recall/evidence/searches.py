"""The searches for evidence that a query calls for, ready to run on the lane of the lexical channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import DEFINITION, PHRASE_MATCH, TERM_COVERAGE
from helix_query.recall.channels.lexical import past_ordinals
from helix_query.recall.evidence.definition import defining_memories, sought_name
from helix_query.recall.evidence.phrase_match import phrase_match
from helix_query.recall.evidence.quotation import is_quotation
from helix_query.recall.evidence.term_coverage import term_coverage, without_low_coverage
from helix_query.recall.query_words import QueryWords
from helix_query.recall.routing.strip_times import strip_times
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Route
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.hits import Hits
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader


def evidence_searches(context: RecallContext, route: Route) -> Mapping[str, Callable[[], Hits]]:
    """Searches by name, `TERM_COVERAGE`, `DEFINITION` or `PHRASE_MATCH`; at most one of them."""
    query, constants = context.query, context.profile.retrieve
    if query.mode == "dense":
        return {}
    if Intent.CURRENT_VALUE in route.intents:
        # A query for the current value must not be answered by an earlier statement in the same words.
        return (
            {TERM_COVERAGE: partial(_term_coverage, context, route)} if constants.term_coverage_limit else {}
        )
    if is_quotation(query.text):
        return {PHRASE_MATCH: partial(_phrase_match, context)} if constants.phrase_match_limit else {}
    # The lexicon holds the latest versions alone, so it does not know what defined a name before.
    if not constants.definition_limit or context.visibility.has_past:
        return {}
    name = sought_name(query.text) if Intent.EXACT_LOOKUP in route.intents else ""
    return {DEFINITION: partial(_definitions, context, name)} if name else {}


def _term_coverage(context: RecallContext, route: Route) -> Hits:
    """Memories that hold most of the words and had happened by the moment the query asks about."""
    query, now = context.query, context.query.now
    words = strip_times(query.text, now)
    found = term_coverage(
        words,
        context.visibility,
        lexicon=context.generation.lexicon,
        limit=context.profile.retrieve.term_coverage_limit,
        occurred_until=microseconds(route.as_of_moment or now),
        within=past_ordinals(context),
    )
    return without_low_coverage(
        found,
        QueryWords.of(words, query.selection, context.generation),
        min_coverage=context.profile.rank.current_min_text_coverage,
    )


def _definitions(context: RecallContext, name: str) -> Hits:
    limit = context.profile.retrieve.definition_limit
    return defining_memories(name, context.visibility, limit=limit, **_where(context))


def _phrase_match(context: RecallContext) -> Hits:
    limit = context.profile.retrieve.phrase_match_limit
    return phrase_match(context.query.text, context.visibility, limit=limit, **_where(context))


class _Where(TypedDict):
    """What a look-up of single memories is given besides the words and the limit."""

    lexicon: LexiconReader
    occurred_until: int
    within: OrdinalSet | None
    already_served: NDArray[np.int64]


def _where(context: RecallContext) -> _Where:
    return {
        "lexicon": context.generation.lexicon,
        "occurred_until": microseconds(context.query.now),
        "within": past_ordinals(context),
        "already_served": context.already_served.value,
    }
