"""Searches of a published index: BM25 over text, context, section, expansions and exact tokens."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from tantivy import Query, Schema

from helix_shared.artifacts.distinct import distinct
from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.hits import MAX_HITS, Hits
from helix_shared.artifacts.lexicon.analysis import idf, stems
from helix_shared.artifacts.lexicon.exact_tokens import exact_tokens
from helix_shared.artifacts.lexicon.files import META, documents_and_deleted
from helix_shared.artifacts.lexicon.index import memories_of, open_index
from helix_shared.artifacts.lexicon.query import (
    WORD_FIELDS,
    FieldWeights,
    OrdinalSet,
    all_words_query,
    coverage_query,
    lexicon_query,
    tokens_query,
)
from helix_shared.artifacts.lexicon.scopes import SCOPE, OpenScopes
from helix_shared.artifacts.lexicon.scores import ScoredQuery
from helix_shared.errors import CorruptArtifactError, InvalidInputError
from helix_shared.text.unicode_form import storable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


MAX_WORDS: Final = 48
MAX_EXACT: Final = 16
"""Together 64 terms, which bound the cost of a query."""

MIN_ALL_WORDS: Final = 3
"""Distinct words that a query needs for a search for all of them."""
QUERY_CHARACTERS: Final = 20_000
"""A longer query is cut here; the recall API has a lower limit."""

MAX_COUNTED: Final = 2_048
"""Up to this many documents with a term, the undeleted ones are counted (.06 ms); beyond, few are deleted."""
MAX_COUNTED_SCOPE: Final = 20_000
"""The same for the documents of a scope, counted once for each caller (.6 ms)."""
MAX_TIES: Final = 4_096
"""Documents with the last score that are fetched to find the lowest ordinals among them."""
COVERAGE_UNITS: Final = 1 << 20
"""Sum of the integer weights of the words of a term coverage query."""

_CANDIDATE_TERMS: Final = 512
_MORE: Final = 8
"""Documents fetched beyond the limit, so that ties with the last score are seldom cut off."""
_DEFAULT_WEIGHTS: Final = FieldWeights()


SELECTIONS: Final = 256
"""Callers whose scopes a reader caches; a recall needs them several times."""


def words_of(query: str) -> tuple[str, ...]:
    """Analysed words of a query in order of appearance."""
    return tuple(stems(query))


def exact_words_of(query: str) -> tuple[str, ...]:
    """Exact tokens of a query."""
    return tuple(exact_tokens(storable(query)))


class LexiconReader:
    """Reads the index of a published generation; safe to use from several threads.

    tantivy creates a lock file, so it opens links in a scratch folder (`HeldFolder`). The index itself may be
    read-only, and may be removed while the reader is open.
    """

    def __init__(self, folder: Path, *, scratch: Path | None = None) -> None:
        """Map the index in `folder`; `scratch` is a local writable folder, by default a temporary one.

        Raises:
            CorruptArtifactError: the index cannot be read.
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
            undeleted = self._undeleted if deleted else frequency
            # one cache for each caller, so that response times do not tell what another caller asked
            self._scopes = lru_cache(SELECTIONS)(
                lambda selection: OpenScopes.of(
                    selection, documents=documents, frequency=frequency, undeleted=undeleted
                )
            )
            self.count = memories_of(self._searcher, self._schema)
            """Number of memories."""
        except BaseException:
            self.close()
            raise

    def scopes(self, selection: Selection) -> OpenScopes:
        """The caller's scopes, with their sizes and document frequencies."""
        return self._scopes(selection)

    def terms(self, query: str, scopes: OpenScopes) -> list[str]:
        """Distinct analysed words of a query in order of appearance, at most `MAX_WORDS`.

        Of more words, the rarest in the scopes are kept; words that no text holds are dropped first.
        """
        words = list(dict.fromkeys(words_of(query[:QUERY_CHARACTERS])))
        if len(words) <= MAX_WORDS:
            return words
        frequency = {word: scopes.document_frequency("text", word) for word in words[:_CANDIDATE_TERMS]}
        rarest = sorted(frequency, key=lambda word: (frequency[word] == 0, frequency[word]))
        kept = set(rarest[:MAX_WORDS])
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
        """The `limit` selected memories with the best BM25 score; no hits for a query without words.

        `within` restricts the search to these ordinals.

        Raises:
            InvalidInputError: a limit out of bounds.
        """
        _check_limit(limit)
        exact = exact_words_of(query[:QUERY_CHARACTERS])[:MAX_EXACT]
        scopes = self.scopes(selection)
        words = self.terms(query, scopes)
        scored = lexicon_query(self._schema, words, exact, scopes, selection, weights=weights, within=within)
        return Hits.none() if scored is None else self._best(scored, scopes, limit)

    def _best(self, scored: ScoredQuery, scopes: OpenScopes, limit: int) -> Hits:
        """The best by rounded score; ties go to the lowest ordinals."""
        # tantivy reserves memory for its limit, so the limit stays below the number of documents
        most = min(limit * max(scopes.lists, 1) + MAX_TIES, scopes.size)
        fetched = min(limit * (2 if scopes.lists > 1 else 1) + _MORE, most)
        while True:
            scores, ordinals = self._fetched(scored.query, fetched)
            low, high = scored.bounds(scores)
            if len(scores) < fetched or fetched == most:
                break
            # documents that were not fetched score at most as much as the last one
            if len(distinct(ordinals[low > high[-1]])) >= limit:
                break
            fetched = min(4 * fetched, most)
        ordinals, low, high = _of_memories(ordinals, low, high)
        if len(ordinals) > limit:
            possible = high >= np.partition(low, -limit)[-limit]
            ordinals, low, high = ordinals[possible], low[possible], high[possible]
        unsure = np.flatnonzero(low < high)
        if len(unsure):
            exact = scored.exact(ordinals[unsure].tolist(), self._searcher)
            low[unsure] = [exact[ordinal] for ordinal in ordinals[unsure].tolist()]
        return Hits.ranked(ordinals, low.astype(np.float32), limit=limit)

    def _undeleted(self, field: str, term: str) -> int:
        """Documents that hold a term and are not deleted; deleted ones count where there are too many."""
        every = self._searcher.doc_freq(field, term)
        if not 0 < every <= (MAX_COUNTED_SCOPE if field == SCOPE else MAX_COUNTED):
            return every
        holding = Query.const_score_query(Query.term_query(self._schema, field, term, "basic"), 1.0)
        # the stubs of tantivy lack `count`
        found: Any = self._searcher.search(holding, limit=1, count=True)
        return int(found.count or 0)

    def _fetched(self, query: Query, limit: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Scores of the engine, best first, and the ordinals."""
        hits = self._searcher.search(query, limit=limit, count=False).hits
        scores = np.fromiter((score for score, _ in hits), np.float64, len(hits))
        ordinals = self._searcher.fast_field_values("ordinal", [place for _, place in hits])
        return scores, np.array(ordinals, np.int64)

    def term_coverage(
        self, query: str, selection: Selection, *, limit: int, within: OrdinalSet | None = None
    ) -> Hits:
        """The `limit` selected memories whose text holds most of the words of `query`; scores are 0 to 1.

        A word counts once, with its idf as weight. Words that no text in the scopes holds do not count.

        Raises:
            InvalidInputError: a limit out of bounds.
        """
        _check_limit(limit)
        scopes = self.scopes(selection)
        frequency = {word: scopes.document_frequency("text", word) for word in self.terms(query, scopes)}
        weights = {word: idf(found, scopes.size) for word, found in frequency.items() if found}
        if not weights:
            return Hits.none()
        unit = COVERAGE_UNITS / sum(weights.values())
        units = {word: max(1, round(unit * weight)) for word, weight in weights.items()}
        scored = coverage_query(self._schema, units, scopes, selection, within=within)
        hits = self._best(scored, scopes, limit)
        return Hits(hits.ordinals, hits.scores / np.float32(sum(units.values())))

    def search_all_words(
        self, query: str, selection: Selection, *, limit: int, within: OrdinalSet | None = None
    ) -> Hits:
        """Up to `limit` selected memories whose text holds every word of `query`, by BM25 score.

        No hits for fewer than `MIN_ALL_WORDS` distinct words, or if all of them are common.

        Raises:
            InvalidInputError: a limit out of bounds.
        """
        _check_limit(limit)
        scopes = self.scopes(selection)
        words = self.terms(query, scopes)
        if len(words) < MIN_ALL_WORDS:
            return Hits.none()
        scored = all_words_query(self._schema, words, scopes, selection, within=within)
        return Hits.none() if scored is None else self._best(scored, scopes, limit)

    def with_any_token(
        self,
        tokens: Sequence[str],
        selection: Selection,
        *,
        limit: int,
        within: OrdinalSet | None = None,
    ) -> Hits:
        """Up to `limit` selected memories with one of the exact tokens; score 1, lowest ordinals first.

        Raises:
            InvalidInputError: a limit out of bounds.
        """
        _check_limit(limit)
        scopes = self.scopes(selection)
        scored = tokens_query(self._schema, tokens, scopes, selection, within=within)
        return Hits.none() if scored is None else self._best(scored, scopes, limit)

    def ordinals(self) -> NDArray[np.int64]:
        """The ordinals of all memories, ascending; reads the whole index, so not for a recall."""
        documents = int(self._searcher.num_docs)
        if not documents:
            return np.empty(0, np.int64)
        return distinct(self._fetched(Query.all_query(), documents)[1])

    def warm(self) -> None:
        """Load what the first search would wait for."""
        self.search("warm", Selection(tenant_id="warm"), limit=1)

    def close(self) -> None:
        """Close the files; running searches finish."""
        self._held.close()


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_HITS:
        raise InvalidInputError("limit", f"must be 1 to {MAX_HITS}")


def _of_memories(
    ordinals: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of the score of each memory, from all its documents, which have the same exact score.

    A memory is found once for each name of its access list that the caller has.
    """
    distinct, at = np.unique(ordinals, return_inverse=True)
    lowest, highest = np.zeros(len(distinct)), np.full(len(distinct), np.inf)
    np.maximum.at(lowest, at, low)
    np.minimum.at(highest, at, high)
    return distinct, lowest, highest


def _check_fields(schema: Schema, folder: Path) -> None:
    """Refuse an index of an older layout, in which queries on a missing field would fail."""
    try:
        for name in (*WORD_FIELDS, SCOPE):
            Query.term_query(schema, name, "", "basic")
    except ValueError as error:
        reason = f"lexicon has another layout than this version: {folder}; rebuild from the log"
        raise CorruptArtifactError(reason) from error
