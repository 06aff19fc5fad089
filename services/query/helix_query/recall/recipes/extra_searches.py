"""Searches of stage 3 for rephrasings of the query and statements of the user, each a ranking of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import LEXICAL
from helix_query.recall.channels.dense import search_plan
from helix_query.recall.recipes.rephrasing import PREFERENCE_PHRASES, own_statements, rephrase, topic_words
from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from helix_query.recall.candidates import Route
    from helix_query.recall.channels.plan import SearchPlan
    from helix_query.recall.context import RecallContext


RunSearch = Callable[[str, "SearchPlan"], Hits]
"""Runs a search of the channel with this name."""


OWN_STATEMENTS: Final = "the user's own statements"
"""Shown as the words of the search for them, which are different for every user."""


@dataclass(frozen=True, slots=True)
class ExtraSearch:
    """A search of a channel for other words than the query's."""

    channel: str
    words: str
    """What an explanation shows as the query."""
    search: Callable[[], Hits]


def extra_searches(context: RecallContext, route: Route, run: RunSearch) -> tuple[ExtraSearch, ...]:
    """The searches for the intents that the profile rephrases."""
    constants = context.profile.retrieve.rephrase
    intents = [intent for intent in route.intents if intent.value in constants.intents]
    found = [
        ExtraSearch(name, words, partial(_search, context, route, run, name, words))
        for words in rephrase(context.query.text, intents, most=constants.max_rephrasings)
        for name in constants.channels
    ]
    if Intent.PREFERENCE in intents and constants.own_statements:
        stated = " ".join((*PREFERENCE_PHRASES, topic_words(context.query.text)))
        search = partial(_own_statements, context, route, run, stated)
        found.append(ExtraSearch(LEXICAL, OWN_STATEMENTS, search))
    return tuple(found)


def _search(
    context: RecallContext, route: Route, run: RunSearch, name: str, words: str, limit: int | None = None
) -> Hits:
    vector = partial(context.snapshot.encoder.embed_query, words)
    return run(name, search_plan(context, words, vector, route.intents, limit=limit))


def _own_statements(context: RecallContext, route: Route, run: RunSearch, stated: str) -> Hits:
    """Search for the user's statements on the topic of the query; no hits if there are none."""
    constants, user_id = context.profile.retrieve.rephrase, context.query.selection.user_id
    hits = _search(context, route, run, LEXICAL, stated, constants.own_statements)
    lines = context.generation.signals.records(hits.ordinals)
    statements = own_statements(
        [line["text"] for line in lines if _said_by_user(line, user_id)], most=constants.max_rephrasings
    )
    return _search(context, route, run, LEXICAL, " ".join(statements)) if statements else Hits.none()


def _said_by_user(line: Mapping[str, Any], user_id: str) -> bool:
    """Whether a memory was said by the caller, or by any person if the user is unknown."""
    return line["role"] != "assistant" and (not user_id or line["user_id"] == user_id)
