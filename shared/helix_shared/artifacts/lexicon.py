"""The lexicon: BM25 over text, context and expansions, and over exact tokens; writer and reader.

The only place that knows tantivy (with its query builder, scopes and files). Documents are the visible
memories, once for every scope they stand in: consolidation deletes a memory that is superseded or deleted.
Speaker, title and text of a memory share the field `text`, because a question names a speaker or a title as
readily as a word.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from tantivy import Document, Index, Query, Schema, Searcher

from helix_shared.artifacts.analysis import ANALYSER, rarity, spaced, stems, storable
from helix_shared.artifacts.exact import exact_tokens
from helix_shared.artifacts.lexicon_files import document_count, link_commit, symlink_farm
from helix_shared.artifacts.lexicon_query import (
    COPY,
    EXACT,
    WORD_FIELDS,
    FieldWeights,
    OrdinalSet,
    copies_query,
    covering_query,
    filter_value,
    lexicon_query,
    lexicon_schema,
)
from helix_shared.artifacts.lexicon_scopes import SCOPE, OpenScopes, scopes_of
from helix_shared.artifacts.ranking import Hits
from helix_shared.artifacts.selection import Selection
from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = [
    "FieldWeights",
    "LexiconEntry",
    "LexiconReader",
    "LexiconWriter",
    "OrdinalSet",
    "entries_of",
    "exact_tokens",
]

MOST_WORDS: Final = 48
MOST_EXACT: Final = 16
"""Together 64 terms: what one query may cost."""

MAX_LIMIT: Final = 10_000
QUERY_CHARACTERS: Final = 20_000
"""Of a longer query only the beginning is analysed; the recall API refuses it long before."""

_HEAP_BYTES: Final = 64_000_000
_CANDIDATE_TERMS: Final = 512
_DEFAULT_WEIGHTS: Final = FieldWeights()


@dataclass(frozen=True, slots=True)
class LexiconEntry:
    """One document; `event_at` in microseconds since 1970 (UTC)."""

    ordinal: int
    tenant_id: str
    owner: str
    audience: tuple[str, ...]
    type: str
    project_id: str
    session_id: str
    event_at: int
    text: str
    title: str = ""
    speaker: str = ""
    role: str = ""
    """Whose turn it is; empty where the text is no turn."""
    context: str = ""
    expansions: tuple[str, ...] = ()


def entries_of(records: pa.Table) -> list[LexiconEntry]:
    """The documents of the records (`record_schema`) that are not hidden."""
    rows = records.set_column(
        records.column_names.index("event_at"), "event_at", records["event_at"].cast("int64")
    )
    names = [name for name in LexiconEntry.__slots__ if name not in ("audience", "expansions")]
    return [
        LexiconEntry(
            **{name: row[name] for name in names},
            audience=tuple(row["audience"]),
            expansions=tuple(row["expansions"]),
        )
        for row in rows.select([*LexiconEntry.__slots__, "hidden"]).to_pylist()
        if not row["hidden"]
    ]


class LexiconWriter:
    """Writes the live index; a second writer on the same folder is refused by tantivy."""

    def __init__(self, folder: Path, index: Index) -> None:
        self._folder = folder
        self._index = index
        self._index.register_tokenizer(ANALYSER, spaced())
        self._writer = index.writer(_HEAP_BYTES, 1)

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Make an empty index in a new or empty folder."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, Index(lexicon_schema(), path=str(folder), reuse=False))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the index in `folder` at its last commit.

        Raises:
            CorruptArtifactError: there is none that can be read.
        """
        return cls(folder, _open_index(folder))

    @property
    def count(self) -> int:
        """Memories of the last commit."""
        self._index.reload()
        return _memories(self._index.searcher(), self._index.schema)

    @property
    def copies(self) -> int:
        """Documents of the last commit beyond the first of each memory, whose access list has more names."""
        self._index.reload()
        return _copies(self._index.searcher(), self._index.schema)

    def upsert(self, rows: Sequence[LexiconEntry]) -> None:
        """Insert or replace documents by ordinal; visible after `commit`."""
        self.delete([row.ordinal for row in rows])
        for row in {row.ordinal: row for row in rows}.values():
            for document in _documents(row):
                self._writer.add_document(document)

    def delete(self, ordinals: Sequence[int] | NDArray[np.int64]) -> None:
        """Remove documents; gone after `commit`."""
        for ordinal in ordinals:
            self._writer.delete_documents_by_term("ordinal", int(ordinal))

    def commit(self) -> None:
        """Make all changes since the last commit durable at once."""
        self._writer.commit()

    def link_into(self, folder: Path) -> None:
        """Hard-link the last commit into the new folder `folder`; call it right after `commit`."""
        link_commit(self._folder, folder)

    def close(self) -> None:
        """Drop what is not committed, and release the lock."""
        self._writer.rollback()
        self._writer.wait_merging_threads()


SELECTIONS: Final = 256
"""Callers whose open scopes a reader knows; a recall asks for them several times."""


class LexiconReader:
    """Reads the index of a published generation; safe to use from several threads.

    tantivy wants to put a lock beside the files, so it sees them through links in a scratch folder;
    the index itself may be read-only.
    """

    def __init__(self, folder: Path, *, scratch: Path | None = None) -> None:
        """Map the index in `folder`; `scratch` is a local writable folder, else a temporary one.

        Raises:
            CorruptArtifactError: there is no index that can be read.
        """
        self._farm = symlink_farm(folder, scratch)
        try:
            self._index = _open_index(self._farm)
            self._schema = self._index.schema
            _check_fields(self._schema, folder)
            self._searcher = self._index.searcher()
            documents, frequency = document_count(folder), self._searcher.doc_freq
            self._scopes = lru_cache(SELECTIONS)(
                lambda selection: OpenScopes.of(selection, documents=documents, frequency=frequency)
            )
            self.count = _memories(self._searcher, self._schema)
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
        words = list(dict.fromkeys(stems(query[:QUERY_CHARACTERS])))
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
        exact = exact_tokens(storable(query[:QUERY_CHARACTERS]))[:MOST_EXACT]
        scopes = self.scopes(selection)
        words = self.terms(query, scopes)
        wanted = lexicon_query(self._schema, words, exact, scopes, selection, weights=weights, within=within)
        return Hits.none() if wanted is None else self._found(wanted, scopes, limit)

    def _found(self, wanted: Query, scopes: OpenScopes, limit: int, *, scale: float = 1.0) -> Hits:
        # tantivy reserves memory for its limit, so it never exceeds the documents there are
        most = min(limit * max(scopes.lists, 1), scopes.size)
        hits = self._searcher.search(wanted, limit=most, count=False).hits
        ordinals = np.array(
            self._searcher.fast_field_values("ordinal", [place for _, place in hits]), np.int64
        )
        scores = np.fromiter((score * scale for score, _ in hits), np.float32, len(hits))
        if scopes.lists:
            # found once for every name of its access list that the caller goes by; the best comes first
            _, first = np.unique(ordinals, return_index=True)
            ordinals, scores = ordinals[first], scores[first]
        return Hits.ranked(ordinals, scores, limit=limit)

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
        wanted = covering_query(self._schema, weights, scopes, selection, within=within)
        return self._found(wanted, scopes, limit, scale=1.0 / sum(weights.values()))

    def warm(self) -> None:
        """Touch what the first search would wait for."""
        self.search("warm", Selection(tenant_id="warm"), limit=1)

    def close(self) -> None:
        """Remove the links; running searches finish."""
        shutil.rmtree(self._farm, ignore_errors=True)


def _open_index(folder: Path) -> Index:
    try:
        return Index.open(str(folder))
    except (ValueError, OSError) as error:
        raise CorruptArtifactError(f"lexicon cannot be read: {folder}") from error


def _check_fields(schema: Schema, folder: Path) -> None:
    """Refuse an index of an older layout: a query on a field it lacks would fail one by one."""
    try:
        for name in (*WORD_FIELDS, SCOPE):
            Query.term_query(schema, name, "", "basic")
    except ValueError as error:
        reason = f"lexicon has another layout than this version: {folder}; rebuild from the log"
        raise CorruptArtifactError(reason) from error


def _memories(searcher: Searcher, schema: Schema) -> int:
    return int(searcher.num_docs) - _copies(searcher, schema)


def _copies(searcher: Searcher, schema: Schema) -> int:
    # the engine's own types do not know the count it gives
    found: Any = searcher.search(copies_query(schema), limit=1, count=True)
    return int(found.count or 0)


def _documents(row: LexiconEntry) -> Iterator[Document]:
    """One document for each scope of a memory."""
    words = [
        (field, [stem for text in texts if text for stem in stems(text)])
        for field, texts in (
            ("text", (row.speaker, row.title, row.text)),
            ("context" if row.role or row.speaker else "section", (row.context,)),
            ("expansions", row.expansions),
        )
    ]
    exact = dict.fromkeys(token for text in (row.title, row.text) for token in exact_tokens(storable(text)))
    for number, key in enumerate(scopes_of(row.tenant_id, row.owner, row.audience)):
        document = Document()
        document.add_integer("ordinal", row.ordinal)
        document.add_integer("event_at", row.event_at)
        for field, tokens in words:
            if tokens:
                document.add_text(field, key + f" {key}".join(tokens))
        for token in exact:
            document.add_text(EXACT, key + token)
        document.add_text(SCOPE, key)
        if number:
            document.add_text(COPY, filter_value(COPY))
        for field, value in (("type", row.type), ("project", row.project_id), ("session", row.session_id)):
            document.add_text(field, filter_value(value))
        yield document
