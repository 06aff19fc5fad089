"""Scopes in the lexicon: every term carries the key of a scope, so a search needs no filter for access.

The key (`filter.scopes`) prefixes every term of a document. A search is the union over the
caller's scopes. The engine may then skip documents that cannot be among the best (block-max WAND), which a
filter would prevent; that is ten times as fast. Document frequencies are counted among what the caller sees.
With `lengths` and `scores`, a score depends on nothing else. A memory with an access list has one document
for each name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from tantivy import Query

from helix_shared.artifacts.filter.scopes import KEY_CHARACTERS, scope_key
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon.analysis import idf
from helix_shared.audience import EVERYONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tantivy import Schema

SCOPE: Final = "scope"
"""Field with the key of a document's scope."""

CACHED_TOKENS: Final = 512
"""Tokens whose counts are cached for one caller; several searches of a recall ask for the same."""

Frequency = Callable[[str, str], int]
"""Number of documents of the whole index that hold a term, by field and term."""
Counts = tuple[tuple[int, ...], tuple[int, ...]]
"""For each scope, the documents that hold a token, and how many of these are not deleted."""


class WeightedTerm(NamedTuple):
    """A term of a query and its weight in the score of a document."""

    field: str
    term: str
    weight: float
    """Weight of the field x idf among the caller's scopes."""
    boost: float
    """`weight` divided by the engine's own idf."""
    frequency: int
    """Documents of the index that hold the term, as the engine counts them."""

    @property
    def scope(self) -> str:
        """Key of its scope."""
        return self.term[:KEY_CHARACTERS]

    def query(self, schema: Schema) -> Query:
        """The query of the engine."""
        return Query.boost_query(Query.term_query(schema, self.field, self.term, "freq"), self.boost)


@dataclass(frozen=True, slots=True)
class OpenScopes:
    """A caller's scopes that hold documents, with the statistics for BM25.

    The engine counts all `documents` of the index, deleted ones included until their segment is merged. When
    that happens depends on the writes of all tenants, so the statistics here leave deleted documents out.
    """

    sizes: Mapping[str, int]
    """Documents by key."""
    lists: int
    """Names of access lists among the scopes: the most documents that one memory may have here."""
    memories: int
    """Estimated number of memories: of the names of access lists, the one with the most documents counts."""
    documents: int
    counts: Callable[[str, str], Counts]
    """Counts of a token, by field and token, in the order of `sizes`."""

    @classmethod
    def of(
        cls, selection: Selection, *, documents: int, frequency: Frequency, undeleted: Frequency
    ) -> OpenScopes:
        """The scopes of a selection; `undeleted` counts like `frequency`, without deleted documents."""
        sizes: dict[str, int] = {}
        names: set[str] = set()
        memories = 0
        access = selection.access
        for owner in access.owners:
            listed = 0
            for name in access.audiences:
                key = scope_key(access.tenant_id, owner, name)
                if size := undeleted(SCOPE, key):
                    sizes[key] = size
                    names.add(name)
                    memories += size if name == EVERYONE else 0
                    listed = max(listed, size if name != EVERYONE else 0)
            memories += listed

        def counts(field: str, token: str) -> Counts:
            every = tuple(frequency(field, key + token) for key in sizes)
            if undeleted is frequency or not any(every):
                return every, every
            pairs = zip(sizes, every, strict=True)
            return every, tuple(undeleted(field, key + token) if count else 0 for key, count in pairs)

        return cls(sizes, len(names - {EVERYONE}), memories, documents, lru_cache(CACHED_TOKENS)(counts))

    @property
    def size(self) -> int:
        """Documents in all scopes."""
        return sum(self.sizes.values())

    def document_frequency(self, field: str, token: str) -> int:
        """Documents in all scopes whose field holds a token."""
        return sum(self.counts(field, token)[1])

    def terms_of_all(self, field: str, tokens: Sequence[str], *, most: int) -> Iterator[list[WeightedTerm]]:
        """The terms of all tokens, for each scope that holds every token.

        Nothing if more than `most` documents hold the rarest token.
        """
        rarest = min((self.document_frequency(field, token) for token in tokens), default=0)
        if not 0 < rarest <= most:
            return
        terms = {one.term: one for token in tokens for one in self.terms(field, token)}
        for key in self.sizes:
            found = [terms[key + token] for token in tokens if key + token in terms]
            if len(found) == len(tokens):
                yield found

    def terms(self, field: str, token: str, weight: float = 1.0) -> Iterator[WeightedTerm]:
        """The terms of a token, for each scope that holds it; `weight` is the weight of the field.

        The engine multiplies by the idf in the whole index; the boost replaces it by the idf among the
        scopes.
        """
        every, undeleted = self.counts(field, token)
        if not (found := sum(undeleted)):
            return
        total = weight * idf(found, self.size)
        for key, count, left in zip(self.sizes, every, undeleted, strict=True):
            if left:
                boost = total / idf(count, self.documents)
                yield WeightedTerm(field, key + token, total, boost, count)
