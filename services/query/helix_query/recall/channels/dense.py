"""The dense channel: the memories nearest to the query's vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from helix_query.profile.sections.section import DENSE
from helix_query.recall.channels.plan import SearchPlan
from helix_query.recall.channels.vector_search import nearest_visible
from helix_query.scheduling.lazy import Lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.profile.intent import Intent
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.hits import Hits


class DenseChannel:
    """Finds memories by the cosine of the stored vector."""

    name: Final = DENSE

    def search(self, _context: RecallContext, plan: SearchPlan) -> Hits:
        """The nearest visible memories, best first; the score is the exact cosine."""
        return plan.nearest.value


def search_plan(
    context: RecallContext,
    text: str,
    vector: Callable[[], NDArray[np.float32]],
    intents: tuple[Intent, ...],
    *,
    limit: int | None = None,
) -> SearchPlan:
    """The plan to search for `text`, whose vector `vector` gives, with at most `limit` hits a channel."""
    nearest = Lazy(partial(_nearest, context, vector, limit), until=context.deadline)
    return SearchPlan(text, vector, intents, nearest, limit)


def _nearest(context: RecallContext, vector: Callable[[], NDArray[np.float32]], limit: int | None) -> Hits:
    return nearest_visible(
        vector(),
        context.visibility,
        vectors=context.generation.vectors,
        limit=limit or context.limit_of(DENSE),
        already_served=context.already_served.value,
        estimate_visibility=context.snapshot.estimate_visibility,
    )
