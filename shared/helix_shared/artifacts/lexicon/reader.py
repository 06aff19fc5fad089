"""The lexicon of a published generation: BM25 over text, context and expansions, and over exact tokens.

Nothing outside the modules of the lexicon knows tantivy. Documents are the visible memories, once for every
scope they stand in (`lexicon_writer`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from tantivy import Query, Schema

from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.lexicon.analysis import rarity, stems, storable
from helix_shared.artifacts.lexicon.exact_tokens import exact_tokens
from helix_shared.artifacts.lexicon.files import META, documents_and_deleted
from helix_shared.artifacts.lexicon.index import memories_of, open_index
from helix_shared.artifacts.lexicon.query import (
    WORD_FIELDS,
    FieldWeights,
    OrdinalSet,
    covering_query,
    holding_query,
    lexicon_query,
)
from helix_shared.artifacts.lexicon.scopes import SCOPE, OpenScopes
from helix_shared.artifacts.lexicon.scores import ScoredQuery
from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


MOST_WORDS: Final = 48
MOST_EXACT: Final = 16
"""Together 64 terms: what one query may cost."""

MAX_LIMIT: Final = 10_000
LEAST_HELD: Final = 3
"""Different words that make a text rare enough to look for who holds all of them."""
QUERY_CHARACTERS: Final = 20_000
"""Of a longer query only the beginning is analysed; the recall API refuses it long before."""

COUNTED: Final = 2_048
"""Documents that hold a term up to which the living are counted: .06 ms. Of more, few are deleted."""
COUNTED_SCOPE: Final = 20_000
"""The same of documents in a scope, counted once for a caller: .6 ms."""
MOST_TIES: Final = 4_096
"""Documents looked through for the lowest ordinals where more have the last score than are wanted."""
SHARES: Final = 1 << 20
"""What the weights of all words of a text add up to where memories are found by the words they hold."""

_CANDIDATE_TERMS: Final = 512
_MORE: Final = 8
"""Documents fetched beyond the limit, so that the last score seldom reaches to the end of what is fetched."""
_DEFAULT_WEIGHTS: Final = FieldWeights()


SELECTIONS: Final = 256
"""Callers whose open scopes a reader knows; a recall asks for them several times."""


def words_of(query: str) -> tuple[str, ...]:
    """The analysed words of a query in order of appearance."""
    return tuple(stems(query))


def exact_words_of(query: str) -> tuple[str, ...]:
    """The exact tokens of a query."""
    return tuple(exact_tokens(storable(query)))


class LexiconReader:
    """Reads the index of a published generation; safe to use from several threads.

    tantivy puts a lock beside the files, so it sees them through links in a scratch folder (`HeldFolder`);
    the index itself may be read-only, and be removed while this reader is open.
    """

    def __init__(self, folder: Path, *, scratch: Path | None = None) -> None:
        """Map the index in `folder`; `scratch` is a local writable folder, else a temporary one.

        Raises:
            CorruptArtifactError: there is no index that can be read.
        """
        if not (folder / META).is_file():
            raise CorruptArtifactError(f"folder has no lexicon: {folder}")
        self._held = HeldFolder(folder, scratch)
        try:
            self._index = open_index(self._held.path)
            self._schema = self._index.schema
            _check_fields(self._schema, folder)
            self._searcher = self._index.searcher()
            documents, deleted = documents_and_deleted(folder)
            frequency = self._searcher.doc_freq
            living = self._living if deleted else frequency
            # Each caller has a memory of its own: what one asked makes no other one's answer quicker.
            self._scopes = lru_cache(SELECTIONS)(
                lambda selection: OpenScopes.of(
                    selection, documents=documents, frequency=frequency, living=living
                )
            )
            self.count = memories_of(self._searcher, self._schema)
            """Memories."""
        except BaseException:
            self.close()
            raise

    def scopes(self, selection: Selection) -> OpenScopes:
        """What is open to the caller of a selection: how much there is, and how many hold a word."""
        return self._scopes(selection)

    def terms(self, query: str, scopes: OpenScopes) -> list[str]:
        """Analysed words of a query in order of appearance, none twice; at most `MOST_WORDS`.

        Of more words the rarest in the scopes are kept, words no text holds being the first to go.
        """
        words = list(dict.fromkeys(words_of(query[:QUERY_CHARACTERS])))
        if len(words) <= MOST_WORDS:
            return words
        frequency = {word: scopes.holding("text", word) for word in words[:_CANDIDATE_TERMS]}
        rarest = sorted(frequency, key=lambda word: (frequency[word] == 0, frequency[word]))
        kept = set(rarest[:MOST_WORDS])
        return [word for word in words if word in kept]

    def search(
        self,
        query: str,
        selection: Selection,
        *,
        limit: int,
        weights: FieldWeights = _DEFAULT_WEIGHTS,
        within: OrdinalSet | None = None,
    ) -> Hits:
        """The `limit` selected memories with the best BM25 score; no hits for a text without words.

        `within` selects among these ordinals alone.

        Raises:
            InvalidInputError: a limit out of bounds.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInputError("limit", f"must be 1 to {MAX_LIMIT}")
        exact = exact_words_of(query[:QUERY_CHARACTERS])[:MOST_EXACT]
        scopes = self.scopes(selection)
        words = self.terms(query, scopes)
        wanted = lexicon_query(self._schema, words, exact, scopes, selection, weights=weights, within=within)
        return Hits.none() if wanted is None else self._found(wanted, scopes, limit)

    def _found(self, wanted: ScoredQuery, scopes: OpenScopes, limit: int) -> Hits:
        """The best by rounded score; equal ones by ordinal, not as the engine saw them."""
        # tantivy reserves memory for its limit, so it never exceeds the documents there are
        most = min(limit * max(scopes.lists, 1) + MOST_TIES, scopes.size)
        fetched = min(limit * (2 if scopes.lists > 1 else 1) + _MORE, most)
        while True:
            scores, ordinals = self._fetched(wanted.query, fetched)
            low, high = wanted.bounds(scores)
            if len(scores) < fetched or fetched == most:
                break
            # what was not fetched scores no more than the last
            if len(np.unique(ordinals[low > high[-1]])) >= limit:
                break
            fetched = min(4 * fetched, most)
        ordinals, low, high = _of_memories(ordinals, low, high)
        if len(ordinals) > limit:
            able = high >= np.partition(low, -limit)[-limit]
            ordinals, low, high = ordinals[able], low[able], high[able]
        unsure = np.flatnonzero(low < high)
        if len(unsure):
            exact = wanted.exact(ordinals[unsure].tolist(), self._searcher)
            low[unsure] = [exact[ordinal] for ordinal in ordinals[unsure].tolist()]
        return Hits.ranked(ordinals, low.astype(np.float32), limit=limit)

    def _living(self, field: str, term: str) -> int:
        """Documents that hold a term and are not deleted; of too many to count, deleted ones too."""
        every = self._searcher.doc_freq(field, term)
        if not 0 < every <= (COUNTED_SCOPE if field == SCOPE else COUNTED):
            return every
        holding = Query.const_score_query(Query.term_query(self._schema, field, term, "basic"), 1.0)
        # the engine's own types do not know the count it gives
        found: Any = self._searcher.search(holding, limit=1, count=True)
        return int(found.count or 0)

    def _fetched(self, query: Query, limit: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Scores by the engine, best first, and the ordinals."""
        hits = self._searcher.search(query, limit=limit, count=False).hits
        scores = np.fromiter((score for score, _ in hits), np.float64, len(hits))
        ordinals = self._searcher.fast_field_values("ordinal", [place for _, place in hits])
        return scores, np.array(ordinals, np.int64)

    def covering(
        self, query: str, selection: Selection, *, limit: int, within: OrdinalSet | None = None
    ) -> Hits:
        """The `limit` selected memories whose text holds most of the words of `query`; 1 is all of them.

        A word counts by its rarity, once, however often it stands there. One that nothing in the open scopes
        holds counts nothing.

        Raises:
            InvalidInputError: a limit out of bounds.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInputError("limit", f"must be 1 to {MAX_LIMIT}")
        scopes = self.scopes(selection)
        frequency = {word: scopes.holding("text", word) for word in self.terms(query, scopes)}
        weights = {word: rarity(found, scopes.size) for word, found in frequency.items() if found}
        if not weights:
            return Hits.none()
        share = SHARES / sum(weights.values())
        shares = {word: max(1, round(share * weight)) for word, weight in weights.items()}
        wanted = covering_query(self._schema, shares, scopes, selection, within=within)
        hits = self._found(wanted, scopes, limit)
        return Hits(hits.ordinals, hits.scores / np.float32(sum(shares.values())))

    def holding(
        self, query: str, selection: Selection, *, limit: int, within: OrdinalSet | None = None
    ) -> Hits:
        """Up to `limit` selected memories whose text holds every word of `query`, the best BM25 score first.

        None for fewer than `LEAST_HELD` different words, or where all of them are common.

        Raises:
            InvalidInputError: a limit out of bounds.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInputError("limit", f"must be 1 to {MAX_LIMIT}")
        scopes = self.scopes(selection)
        words = self.terms(query, scopes)
        if len(words) < LEAST_HELD:
            return Hits.none()
        wanted = holding_query(self._schema, words, scopes, selection, within=within)
        return Hits.none() if wanted is None else self._found(wanted, scopes, limit)

    def warm(self) -> None:
        """Touch what the first search would wait for."""
        self.search("warm", Selection(tenant_id="warm"), limit=1)

    def close(self) -> None:
        """Let go of the files; running searches finish."""
        self._held.close()


def _of_memories(
    ordinals: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of the score of each memory: of all its documents, since the exact score of them is the same.

    A memory is found once for every name of its access list that the caller goes by.
    """
    distinct, at = np.unique(ordinals, return_inverse=True)
    lowest, highest = np.zeros(len(distinct)), np.full(len(distinct), np.inf)
    np.maximum.at(lowest, at, low)
    np.minimum.at(highest, at, high)
    return distinct, lowest, highest


def _check_fields(schema: Schema, folder: Path) -> None:
    """Refuse an index of an older layout: a query on a field it lacks would fail one by one."""
    try:
        for name in (*WORD_FIELDS, SCOPE):
            Query.term_query(schema, name, "", "basic")
    except ValueError as error:
        reason = f"lexicon has another layout than this version: {folder}; rebuild from the log"
        raise CorruptArtifactError(reason) from error
