"""The preferences and constraints that matter to a question which asks for advice, a choice or an action.

"Which cake shall we order?" shares no word with "milk makes me ill". A caller has few preferences, so each is
compared: by cosine, and by topic.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory.vocabulary.facets import FACETS
from helix_query.generations.indexes.facet_index import STATIC
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import code
from helix_shared.naming import find_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.context import RecallContext
    from helix_query.recall.preferences.topics import Topics
    from helix_query.recall.stages.embed import EmbeddedQuery

FACET_BITS: Final = sum(1 << FACETS.index(facet) for facet in ("preference", "constraint"))
MAX_COMPARED: Final = 2_048
"""Strongest visible preferences of a caller that are compared. Chosen by hand."""
READ_CHARACTERS: Final = 200
"""Characters of a query that are read for its first words."""
SURE_ADVICE: Final = 0.4
"""`Topics.advice` from which a question surely asks for advice."""
TOPIC_WEIGHT: Final = 0.2
"""Weight of an equal topic beside the cosine."""
MATCH_RANGE: Final = 0.25
"""Distance below the best match from which a preference counts nothing."""

OTHER_SPEAKER_FACTOR: Final = 0.3
"""Factor of the preference of one speaker for a question about another."""

_ASKS_FACT: Final = re.compile(
    r"^\W*(?:(?:and|so|but|ok(?:ay)?|hey|by|since|until|from|at|in|on|for|with),? ){0,3}"
    r"(?:when|who|whom|whose|why|how (?:many|much|long|often|old|far|did|does|is|are|was|were)"
    r"|where (?:did|is|are|was|were|does|do)|did|was"
    r"|were|has|have|had|what (?:was|were|did|happened|time|day|date|year)|which (?:was|were|did)"
    r"|(?:is|are|does|do) .{0,60}\b(?:still|now|yet|anymore|already)\b|remind me|list|count|summari[sz]e)\b",
    re.IGNORECASE,
)


def asks_for_advice(query: str, vector: NDArray[np.float32], topics: Topics) -> float:
    """How surely a query asks for advice, a choice or an action, 0 to 1; 0 for what asks for a fact."""
    if _ASKS_FACT.match(query[:READ_CHARACTERS].replace("\u2019", "'")):
        return 0.0
    return float(np.clip(topics.asks_advice.of(vector) / SURE_ADVICE, 0.0, 1.0))


def preference_hits(context: RecallContext, embedded: EmbeddedQuery) -> Hits:
    """The preferences that matter most, best first; none where the query does not ask for advice.

    A score, above 0 and at most 1, is the product of three shares: how surely the query asks for advice, how
    much of its topic the memory has, and how near the memory is to the best match.
    """
    limit, topics = context.profile.retrieve.preference_limit, context.snapshot.centroids.topics
    if not limit or topics is None or context.query.mode == "dense":
        return Hits.none()
    # example questions are compared without the query adapter (0053), memories with it
    asks, vector = asks_for_advice(context.query.text, embedded.plain, topics), embedded.vector
    if not asks:
        return Hits.none()
    ordinals = _visible_preferences(context)
    if not len(ordinals):
        return Hits.none()
    signals = context.generation.signals
    alike = topics.of(signals.vectors(ordinals)) @ topics.of(vector[None, :])[0]
    matches = signals.cosines(vector, ordinals) + TOPIC_WEIGHT * alike
    near = np.clip(1.0 - (matches.max() - matches) / MATCH_RANGE, 0.0, 1.0)
    hits = Hits.ranked(ordinals, (asks * alike * near).astype(np.float32), limit=limit)
    shares = _shares_by_person(context, hits.ordinals)
    hits = Hits.ranked(hits.ordinals, hits.scores * shares, limit=limit)
    kept = hits.scores > 0
    return Hits(hits.ordinals[kept], hits.scores[kept])


def _shares_by_person(context: RecallContext, ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
    """1, or `OTHER_SPEAKER_FACTOR` for what a speaker said whom the query does not mean.

    The query means somebody else where it has names, and neither the speaker nor the text has one of them.
    """
    names = [name.name.lower() for name in find_names(context.query.text[:READ_CHARACTERS])]
    shares = np.ones(len(ordinals), np.float32)
    places = {ordinal: place for place, ordinal in enumerate(ordinals.tolist())}
    for record in context.generation.signals.records(ordinals) if names else ():
        said = f"{record['speaker']} {record['text']}".lower()
        if record["speaker"] and not any(name in said for name in names):
            shares[places[record["ordinal"]]] = OTHER_SPEAKER_FACTOR
    return shares


def _visible_preferences(context: RecallContext) -> NDArray[np.int64]:
    """Ordinals of the caller's strongest visible preferences."""
    selection, index = context.query.selection, context.snapshot.facet_index.value
    tenant = code(selection.tenant_id)
    owners = [index.of_owner(tenant, code(owner)) for owner in selection.access.owners]
    places = np.concatenate(owners)
    places = places[index.facets[places] & np.uint16(FACET_BITS) != 0]
    if len(places) > MAX_COMPARED:
        places = places[context.visibility.is_visible(index.ordinals[places])]
    best = np.lexsort((places, -index.strengths[STATIC][places]))[:MAX_COMPARED]
    ordinals = np.sort(index.ordinals[places[best]])
    return ordinals[context.visibility.is_visible(ordinals)]
