"""Stage 3, what to look for: every channel of a ranking profile as a search that is ready to run.

Binds channels to one question, one generation and one profile, as `binding` does the stages, which
hands these to `stages.retrieve`. Nothing is searched here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from helix_query.channels.associative import associative
from helix_query.channels.covering import covering
from helix_query.channels.dense import dense
from helix_query.channels.entity import entity
from helix_query.channels.lexical import lexical
from helix_query.columns import NONE, judged, microseconds, visible
from helix_query.lazy import Lazy
from helix_query.pool import ASSOCIATIVE, COVERING, DENSE, ENTITY, LEXICAL, Route
from helix_query.routing.wording import without_times
from helix_query.stages.rephrase import STATED, own_statements, rephrase, topic
from helix_query.stages.retrieve import Further, Search
from helix_shared.artifacts.ranking import Hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.profile import RankingProfile
    from helix_query.question import Question
    from helix_query.served import Served

OWN_STATEMENTS: Final = "the user's own statements"
"""Stands for the query of the list that those statements find."""


@dataclass(frozen=True, slots=True)
class Searches:
    """One recall's searches."""

    question: Question
    served: Served
    profile: RankingProfile
    vector: NDArray[np.float32]
    way: Route
    already: NDArray[np.int64] = field(default_factory=lambda: NONE)
    """Memories the caller has; they take no place of others."""

    def of_channels(self) -> Mapping[str, Search]:
        """The search of each channel, whether the profile asks it or not."""
        nearest = Lazy(partial(self._dense, self.vector))
        return {
            DENSE: lambda: nearest.value,
            LEXICAL: partial(self._lexical, self.question.query),
            ENTITY: self._entity,
            ASSOCIATIVE: lambda: self._associative(nearest),
        }

    def further(self) -> tuple[Further, ...]:
        """Searches in other words, for the intents that the profile rephrases."""
        constants = self.profile.retrieve.rephrase
        intents = set(constants.intents).intersection(self.way.intents)
        found = [
            Further(channel, words, partial(self._worded, channel, words))
            for words in rephrase(self.question.query, intents, most=constants.most)
            for channel in constants.channels
        ]
        if self.profile.retrieve.covering_limit and "current_value" in self.way.intents:
            found.append(Further(LEXICAL, COVERING, self._covering))
        if "preference" in intents and constants.own_examples:
            found.append(Further(LEXICAL, OWN_STATEMENTS, self._own_statements))
        return tuple(found)

    def limit_of(self, channel: str) -> int:
        """Candidates asked of a channel."""
        return self.profile.retrieve.limit_of(channel, self.question.top_k or self.profile.top_k)

    def deeper(self, channel: str, limit: int) -> Hits:
        """The dense or the lexical channel with another limit."""
        if channel == LEXICAL:
            return self._lexical(self.question.query, limit=limit)
        return dense(self.vector, limit=limit, already=self.already, **self._stored())

    def _worded(self, channel: str, words: str) -> Hits:
        if channel == LEXICAL:
            return self._lexical(words)
        return self._dense(self.served.encoder.embed_query(words))

    def _dense(self, vector: NDArray[np.float32]) -> Hits:
        return dense(vector, limit=self.limit_of(DENSE), already=self.already, **self._stored())

    def _lexical(self, words: str, limit: int | None = None) -> Hits:
        generation, selection = self.served.generation, self.question.selection
        moment, past = judged(selection, generation.vectors, self.question.now)
        return lexical(
            words,
            selection,
            lexicon=generation.lexicon,
            signals=generation.signals,
            limit=limit or self.limit_of(LEXICAL),
            weights=self.served.field_weights(self.profile.retrieve.fields_for(self.way.intents)),
            now=moment,
            past=past,
            known=None if past is None else self.served.chronology.value.known_at(microseconds(moment)),
            already=self.already,
        )

    def _covering(self) -> Hits:
        """Memories that hold most of the words, as far as they had happened by the moment asked about."""
        generation, selection, now = self.served.generation, self.question.selection, self.question.now
        moment, past = judged(selection, generation.vectors, now)
        asked_about = microseconds(self.way.as_of_moment or now)
        return covering(
            without_times(self.question.query, now),
            selection,
            lexicon=generation.lexicon,
            signals=generation.signals,
            limit=self.profile.retrieve.covering_limit,
            happened_by=asked_about,
            now=moment,
            past=past,
            known=None if past is None else self.served.chronology.value.known_at(microseconds(moment)),
        )

    def _entity(self) -> Hits:
        return entity(
            self.served.named_nodes(self.question.selection.tenant_id, self.way.names),
            graph=self.served.adjacency,
            memories=self.served.memories,
            cosines=partial(self.served.generation.signals.cosines, self.vector),
            visible=partial(visible, **self._stored()),
            limit=self.limit_of(ENTITY),
            hub_cap=self.profile.expand.hub_cap,
            hop=self.profile.retrieve.entity_hop,
        )

    def _associative(self, nearest: Lazy[Hits]) -> Hits:
        return associative(
            self.vector,
            nearest=lambda: nearest.value,
            patterns=self.profile.retrieve.associative_patterns,
            beta=self.profile.retrieve.associative_beta,
            limit=self.limit_of(ASSOCIATIVE),
            **self._stored(),
        )

    def _own_statements(self) -> Hits:
        """What is said like the user's own statements on the subject; nothing where there are none."""
        constants, selection = self.profile.retrieve.rephrase, self.question.selection
        probe = " ".join((*STATED, topic(self.question.query)))
        hits = self._lexical(probe, limit=constants.own_examples)
        columns = ["text", "role", "user_id"]
        rows = self.served.generation.vectors.take(hits.ordinals, columns=columns).to_pylist()
        said = [row["text"] for row in rows if _own(row, selection.user_id)]
        statements = own_statements(said, most=constants.most)
        return self._lexical(" ".join(statements)) if statements else Hits.none()

    def _stored(self) -> dict[str, Any]:
        """What every scoped reader of vectors and signals is called with."""
        generation = self.served.generation
        return {
            "selection": self.question.selection,
            "vectors": generation.vectors,
            "signals": generation.signals,
            "now": self.question.now,
        }


def _own(row: Mapping[str, Any], user_id: str) -> bool:
    """Whether a person said it, and the asking one where that is known."""
    return row["role"] != "assistant" and (not user_id or row["user_id"] == user_id)
