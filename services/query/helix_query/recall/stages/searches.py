"""Stage 3, what to look for: every channel of a ranking profile as a search that is ready to run.

Binds channels to one question, one generation and one profile, as `finding` does the stages, which
hands these to `stages.retrieve`. Nothing is searched here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import ASSOCIATIVE, COVERING, DENSE, ENTITY, LEXICAL, QUOTED, Route
from helix_query.recall.channels.associative import associative
from helix_query.recall.channels.dense import dense
from helix_query.recall.channels.entity import entity
from helix_query.recall.channels.lexical import lexical
from helix_query.recall.evidence.phrase_match import quoted
from helix_query.recall.evidence.quotation import is_quotation
from helix_query.recall.evidence.term_coverage import covering
from helix_query.recall.recipes.rephrasing import STATED, own_statements, rephrase, topic
from helix_query.recall.routing.route import names_in
from helix_query.recall.routing.strip_times import strip_times
from helix_query.recall.stages.retrieve import Begun, ExtraSearch
from helix_query.scheduling.lazy import Lazy
from helix_shared.artifacts.hits import Hits
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.profile.sections.search import FieldWeights
    from helix_query.recall.query import Query
    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet

OWN_STATEMENTS: Final = "the user's own statements"
"""Stands for the query of the list that those statements find."""


@dataclass(frozen=True, slots=True)
class ByWords:
    """One recall's lexical channel; it needs no vector, so it may run while the question is embedded."""

    question: Query
    served: Snapshot
    profile: RankingProfile
    view: Visibility
    already: Lazy[NDArray[np.int64]]
    """Memories the caller has; they take no place of others."""
    by_rule: Lazy[tuple[Intent, ...]]
    """Intents by the question's wording."""
    until: float = field(default=math.inf, kw_only=True)
    """Deadline of the recall, a moment of the monotonic clock."""

    def limit_of(self, channel: str) -> int:
        """Candidates asked of a channel."""
        return self.profile.retrieve.limit_of(channel, self.question.top_k or self.profile.top_k)

    def fields(self, intents: Sequence[Intent]) -> FieldWeights:
        """What the profile weighs the lexicon's fields by, for questions of these intents."""
        return self.profile.retrieve.fields_for(intents)

    def search(self, words: str, intents: Sequence[Intent], limit: int | None = None) -> Hits:
        """The memories that match `words` best."""
        return lexical(
            words,
            self.view,
            lexicon=self.served.generation.lexicon,
            limit=limit or self.limit_of(LEXICAL),
            weights=self.served.field_weights(self.fields(intents)),
            known=self.known(),
            already=self.already.value,
        )

    def known(self) -> OrdinalSet | None:
        """What the lexicon is asked among, where the moment is a past one."""
        if self.view.past is None:
            return None
        return self.served.as_of_index.value.created_by(microseconds(self.view.moment))

    def ahead(self) -> Hits:
        """The question's own words, weighed as its wording alone says: what `Searches` most often asks."""
        return self.search(self.question.query, self.by_rule.value)

    def foresees(self, intents: Sequence[Intent]) -> bool:
        """Whether `ahead` weighs the fields as a question of these intents does."""
        return self.fields(intents) == self.fields(self.by_rule.value)


@dataclass(frozen=True, slots=True)
class Searches(ByWords):
    """One recall's searches."""

    vector: NDArray[np.float32]
    way: Route
    begun: Future[Hits] | None = None
    """The search of `ByWords.ahead`, where it was begun."""

    def of_channels(self) -> Mapping[str, Begun]:
        """The search of each channel, whether the profile asks it or not."""
        nearest = Lazy(partial(self._dense, self.vector), until=self.until)
        begun = self.begun
        if begun is not None and not self.foresees(self.way.intents):
            begun.cancel()
            begun = None
        return {
            DENSE: lambda: nearest.value,
            LEXICAL: begun or partial(self._lexical, self.question.query),
            ENTITY: self._entity,
            ASSOCIATIVE: lambda: self._associative(nearest),
        }

    def further(self) -> tuple[ExtraSearch, ...]:
        """Searches in other words, for the intents that the profile rephrases."""
        constants = self.profile.retrieve.rephrase
        intents = set(constants.intents).intersection(self.way.intents)
        found = [
            ExtraSearch(channel, words, partial(self._worded, channel, words))
            for words in rephrase(self.question.query, intents, most=constants.most)
            for channel in constants.channels
        ]
        if Intent.CURRENT_VALUE in self.way.intents:
            if self.profile.retrieve.term_coverage_limit:
                found.append(ExtraSearch(LEXICAL, COVERING, self._covering))
        # who wants what holds now is not served by an earlier statement in the same words
        elif self.profile.retrieve.phrase_match_limit and is_quotation(self.question.query):
            found.append(ExtraSearch(LEXICAL, QUOTED, self._quoted))
        if Intent.PREFERENCE in intents and constants.own_examples:
            found.append(ExtraSearch(LEXICAL, OWN_STATEMENTS, self._own_statements))
        return tuple(found)

    def deeper(self, channel: str, limit: int) -> Hits:
        """The dense or the lexical channel with another limit."""
        if channel == LEXICAL:
            return self._lexical(self.question.query, limit=limit)
        return self._dense(self.vector, limit)

    def _worded(self, channel: str, words: str) -> Hits:
        if channel == LEXICAL:
            return self._lexical(words)
        return self._dense(self.served.encoder.embed_query(words))

    def _dense(self, vector: NDArray[np.float32], limit: int | None = None) -> Hits:
        return dense(
            vector,
            self.view,
            vectors=self.served.generation.vectors,
            limit=limit or self.limit_of(DENSE),
            already=self.already.value,
            estimate_visibility=self.served.estimate_visibility,
        )

    def _lexical(self, words: str, limit: int | None = None) -> Hits:
        return self.search(words, self.way.intents, limit)

    def _covering(self) -> Hits:
        """Memories that hold most of the words, as far as they had happened by the moment asked about."""
        now = self.question.now
        return covering(
            strip_times(self.question.query, now),
            self.view,
            lexicon=self.served.generation.lexicon,
            limit=self.profile.retrieve.term_coverage_limit,
            happened_by=microseconds(self.way.as_of_moment or now),
            known=self.known(),
        )

    def _quoted(self) -> Hits:
        """Memories that hold the very words."""
        return quoted(
            self.question.query,
            self.view,
            lexicon=self.served.generation.lexicon,
            limit=self.profile.retrieve.phrase_match_limit,
            happened_by=microseconds(self.question.now),
            known=self.known(),
            already=self.already.value,
        )

    def _entity(self) -> Hits:
        return entity(
            self.served.named_nodes(self.question.selection.tenant_id, names_in(self.question.query)),
            graph=self.served.adjacency,
            memories=self.served.memories,
            cosines=partial(self.served.generation.signals.cosines, self.vector),
            visible=self.view.sees,
            limit=self.limit_of(ENTITY),
            hub_cap=self.profile.expand.hub_cap,
            hop=self.profile.retrieve.entity_hop,
        )

    def _associative(self, nearest: Lazy[Hits]) -> Hits:
        return associative(
            self.vector,
            self.view,
            nearest=lambda: nearest.value,
            vectors=self.served.generation.vectors,
            patterns=self.profile.retrieve.associative_patterns,
            beta=self.profile.retrieve.associative_beta,
            limit=self.limit_of(ASSOCIATIVE),
        )

    def _own_statements(self) -> Hits:
        """What is said like the user's own statements on the subject; nothing where there are none."""
        constants, selection = self.profile.retrieve.rephrase, self.question.selection
        words = " ".join((*STATED, topic(self.question.query)))
        hits = self._lexical(words, limit=constants.own_examples)
        lines = self.view.signals.records(hits.ordinals)
        said = [line["text"] for line in lines if _own(line, selection.user_id)]
        statements = own_statements(said, most=constants.most)
        return self._lexical(" ".join(statements)) if statements else Hits.none()


def _own(line: Mapping[str, Any], user_id: str) -> bool:
    """Whether a person said it, and the asking one where that is known."""
    return line["role"] != "assistant" and (not user_id or line["user_id"] == user_id)
