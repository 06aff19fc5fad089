"""Scopes of the lexicon: every term is kept apart by who may see it, so a search needs no filter for that.

A scope is a tenant, an owner (or nobody) and one name of an access list (or everyone). Its key stands in
front of every term of its documents. A caller's search is the union over the scopes open to it: the engine
may skip what cannot win (block-max WAND), which a filter forbids and which makes it ten times as fast; and
document frequencies are counted among what the caller sees. `lexicon_lengths` and `lexicon_scores` do the
rest, so that no score tells of anything else.
A memory with an access list stands there once for every name on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from tantivy import Query

from helix_shared.artifacts.filter.scopes import KEY_CHARACTERS, scope_key
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon.analysis import rarity
from helix_shared.audience import EVERYONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tantivy import Schema

SCOPE: Final = "scope"
"""Field with the key of a document's scope."""

REMEMBERED: Final = 512
"""Tokens whose counts are remembered for one caller: several searches of a recall ask for the same."""

Frequency = Callable[[str, str], int]
"""Documents of the whole index that hold a term, by field and term."""
Counts = tuple[tuple[int, ...], tuple[int, ...]]
"""Of a token in each scope: documents that hold it, and those of them that are not deleted."""


class WeightedTerm(NamedTuple):
    """A term of a query and what a document's score gets from it."""

    field: str
    term: str
    weight: float
    """Weight of the field times the idf among the open scopes."""
    boost: float
    """What makes of the engine's own idf that weight."""
    frequency: int
    """Documents of the index that hold it, as the engine counts."""

    @property
    def scope(self) -> str:
        """Key of the scope it stands in."""
        return self.term[:KEY_CHARACTERS]

    def query(self, schema: Schema) -> Query:
        """As a query of the engine."""
        return Query.boost_query(Query.term_query(schema, self.field, self.term, "freq"), self.boost)


@dataclass(frozen=True, slots=True)
class OpenScopes:
    """The scopes open to a caller that hold anything, with the statistics that BM25 needs of them.

    The engine counts all `documents` of the index and their `frequency`, those included that are deleted and
    not merged away. When that happens hangs on what everybody writes, so statistics are of the `living`.
    """

    sizes: Mapping[str, int]
    """Documents by key."""
    lists: int
    """How many names of access lists are among them: as often a memory may be found."""
    memories: int
    """About how many memories they hold: of the names of access lists the one with most counts."""
    documents: int
    counts: Callable[[str, str], Counts]
    """Counts of a token in each scope, in the order of `sizes`, by field and token."""

    @classmethod
    def of(
        cls, selection: Selection, *, documents: int, frequency: Frequency, living: Frequency
    ) -> OpenScopes:
        """Those of a selection."""
        sizes: dict[str, int] = {}
        names: set[str] = set()
        memories = 0
        access = selection.access
        for owner in access.owners:
            listed = 0
            for name in access.audiences:
                key = scope_key(access.tenant_id, owner, name)
                if size := living(SCOPE, key):
                    sizes[key] = size
                    names.add(name)
                    memories += size if name == EVERYONE else 0
                    listed = max(listed, size if name != EVERYONE else 0)
            memories += listed

        def counts(field: str, token: str) -> Counts:
            every = tuple(frequency(field, key + token) for key in sizes)
            if living is frequency or not any(every):
                return every, every
            held = zip(sizes, every, strict=True)
            return every, tuple(living(field, key + token) if count else 0 for key, count in held)

        return cls(sizes, len(names - {EVERYONE}), memories, documents, lru_cache(REMEMBERED)(counts))

    @property
    def size(self) -> int:
        """Documents in all of them."""
        return sum(self.sizes.values())

    def holding(self, field: str, token: str) -> int:
        """Documents in all of them whose field holds a token."""
        return sum(self.counts(field, token)[1])

    def holding_all(self, field: str, tokens: Sequence[str], *, most: int) -> Iterator[list[WeightedTerm]]:
        """The `terms` of all tokens in each scope that holds every one of them.

        None where more than `most` documents hold even the rarest.
        """
        rarest = min((self.holding(field, token) for token in tokens), default=0)
        if not 0 < rarest <= most:
            return
        terms = {one.term: one for token in tokens for one in self.terms(field, token)}
        for key in self.sizes:
            held = [terms[key + token] for token in tokens if key + token in terms]
            if len(held) == len(tokens):
                yield held

    def terms(self, field: str, token: str, weight: float = 1.0) -> Iterator[WeightedTerm]:
        """The terms of a token in the scopes that hold it, weighed by `weight`.

        The engine weighs a term by its rarity in the whole index (Robertson, Zaragoza 2009); the boost puts
        the rarity of the token among the open scopes in its place.
        """
        every, living = self.counts(field, token)
        if not (holding := sum(living)):
            return
        true = weight * rarity(holding, self.size)
        for key, count, held in zip(self.sizes, every, living, strict=True):
            if held:
                boost = true / rarity(count, self.documents)
                yield WeightedTerm(field, key + token, true, boost, count)
