"""The lexical channel: BM25 over text, context, expansions and exact tokens of valid memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_query.profile.sections.section import LEXICAL
from helix_query.recall.visibility import visible_hits
from helix_shared.artifacts.lexicon.query import FieldWeights
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from helix_query.recall.channels.plan import SearchPlan
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.hits import Hits
    from helix_shared.artifacts.lexicon.query import OrdinalSet


class LexicalChannel:
    """Finds memories by their words."""

    name: Final = LEXICAL

    def search(self, context: RecallContext, plan: SearchPlan) -> Hits:
        """The visible memories that match the words best; the score is BM25.

        The lexicon holds the latest versions only. Only the dense channel finds what was superseded since a
        past moment.
        """
        lexicon, visibility = context.generation.lexicon, context.visibility
        weights = FieldWeights(**context.profile.retrieve.fields_for(plan.intents).model_dump())
        within = past_ordinals(context)
        return visible_hits(
            lambda count: lexicon.search(
                plan.text, visibility.selection, limit=count, weights=weights, within=within
            ),
            visibility.is_valid_at,
            limit=plan.limit or context.limit_of(LEXICAL),
            already_served=context.already_served.value,
        )


def past_ordinals(context: RecallContext) -> OrdinalSet | None:
    """The ordinals that existed, or had occurred, at a past moment: the lexicon stores no times. None: all.

    If both `as_of` and `valid_at` are given, the stricter one is used; the hits are checked against both.
    """
    past, snapshot = context.query.selection.past, context.snapshot
    sets = []
    if past.as_of is not None:
        sets.append(snapshot.as_of_index.value.by(microseconds(past.as_of)))
    if past.valid_at is not None:
        sets.append(snapshot.valid_at_index.value.by(microseconds(past.valid_at)))
    return min(sets, key=lambda one: one.below, default=None)
