"""The writer of the lexicon: one document for each scope of a memory, in the live index.

Hidden memories have no documents. Speaker, title and text of a memory share the field `text`, since questions
name all three. Companion documents keep the mean length constant (`lengths`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from tantivy import Document, Index, Query

from helix_memory.vocabulary.speech_acts import FLAGS
from helix_shared.artifacts.filter.filters import CLEAR_OF, TERM_FIELDS
from helix_shared.artifacts.filter.scopes import scopes_of
from helix_shared.artifacts.lexicon.analysis import ANALYSER, spaced, stems
from helix_shared.artifacts.lexicon.definition_tokens import definition_tokens
from helix_shared.artifacts.lexicon.exact_tokens import exact_tokens
from helix_shared.artifacts.lexicon.files import link_commit, segments_with_deletions
from helix_shared.artifacts.lexicon.index import copies_of, memories_of, open_index
from helix_shared.artifacts.lexicon.lengths import FILLER, TYPICAL, padded
from helix_shared.artifacts.lexicon.query import COPY, EXACT, filter_value, lexicon_schema, ordinals_query
from helix_shared.artifacts.lexicon.scopes import SCOPE
from helix_shared.text.unicode_form import storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from tantivy import DocAddress

_HEAP_BYTES: Final = 64_000_000
_PURGE_BATCH_MEMORIES: Final = 4_096
"""Memories that a purge reads and writes again at a time."""
PURGE_BATCH_ORDINALS: Final = 65_536
"""Ordinals whose documents a purge looks at, at a time."""
_LISTS: Final = ("audience", "expansions", "flags")


@dataclass(frozen=True, slots=True)
class LexiconEntry:
    """A memory to index; `event_at` is in microseconds since 1970 (UTC)."""

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
    """Author of a turn; empty where the text is not a turn."""
    context: str = ""
    expansions: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def entries_of(records: pa.Table) -> list[LexiconEntry]:
    """The entries of the records (`record_schema`) that are not hidden."""
    rows = records.set_column(
        records.column_names.index("event_at"), "event_at", records["event_at"].cast("int64")
    )
    names = LexiconEntry.__slots__
    visible = (row for row in rows.select([*names, "hidden"]).to_pylist() if not row["hidden"])
    return [LexiconEntry(**{name: _value(name, row[name]) for name in names}) for row in visible]


def _value(name: str, value: Any) -> Any:
    return tuple(value) if name in _LISTS else value


class LexiconWriter:
    """Writes the live index; tantivy refuses a second writer on the same folder."""

    def __init__(self, folder: Path, index: Index) -> None:
        self._folder = folder
        self._index = index
        self._index.register_tokenizer(ANALYSER, spaced())
        self._writer = index.writer(_HEAP_BYTES, 1)

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Create an empty index in a new or empty folder."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, Index(lexicon_schema(), path=str(folder), reuse=False))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the index in `folder` at its last commit.

        Raises:
            CorruptArtifactError: it cannot be read.
        """
        return cls(folder, open_index(folder))

    @property
    def count(self) -> int:
        """Number of memories in the last commit."""
        self._index.reload()
        return memories_of(self._index.searcher(), self._index.schema)

    @property
    def copies(self) -> int:
        """Documents in the last commit that are not the first of their memory, companions included."""
        self._index.reload()
        return copies_of(self._index.searcher(), self._index.schema)

    def upsert(self, rows: Sequence[LexiconEntry]) -> None:
        """Insert or replace memories by ordinal; visible after `commit`."""
        self.delete([row.ordinal for row in rows])
        for row in {row.ordinal: row for row in rows}.values():
            for document in _documents(row):
                self._writer.add_document(document)

    def delete(self, ordinals: Sequence[int] | NDArray[np.int64]) -> None:
        """Remove memories; gone after `commit`."""
        for ordinal in ordinals:
            self._writer.delete_documents_by_term("ordinal", int(ordinal))

    def commit(self) -> None:
        """Commit all changes since the last commit together."""
        self._writer.commit()

    def purge(self, entries: Callable[[Sequence[int]], Sequence[LexiconEntry]]) -> None:
        """Commit, then write the segments with deleted documents again, so that none of their terms is left.

        Tantivy removes terms only with their segment. `entries` gives the entries of memories by ordinal.
        """
        self._writer.commit()
        for dirty in (self._in_dirty_segments, self._in_any_segment):
            if not segments_with_deletions(self._folder):
                break
            ordinals = dirty()
            for start in range(0, len(ordinals), _PURGE_BATCH_MEMORIES):
                self.upsert(entries(ordinals[start : start + _PURGE_BATCH_MEMORIES]))
            self._writer.commit()
        self._writer.garbage_collect_files()

    def _in_dirty_segments(self) -> list[int]:
        """Ordinals of the documents that share a segment with a deleted one."""
        dirty = set(segments_with_deletions(self._folder))
        return self._ordinals(lambda address: address.segment_ord in dirty)

    def _in_any_segment(self) -> list[int]:
        return self._ordinals(lambda _: True)

    def _ordinals(self, is_chosen: Callable[[DocAddress], bool]) -> list[int]:
        """Ordinals of the chosen documents, ascending, found in parts: a hit takes 200 bytes."""
        self._index.reload()
        searcher: Any = self._index.searcher()
        highest = searcher.search(Query.all_query(), limit=1, count=False, order_by_field="ordinal").hits
        found: list[int] = []
        for start in range(0, highest[0][0] + 1 if highest else 0, PURGE_BATCH_ORDINALS):
            among = ordinals_query(self._index.schema, start, start + PURGE_BATCH_ORDINALS)
            count = searcher.search(among, limit=1, count=True).count
            hits = searcher.search(among, limit=count, count=False).hits if count else ()
            chosen = [address for _, address in hits if is_chosen(address)]
            found += sorted(set(searcher.fast_field_values("ordinal", chosen))) if chosen else ()
        return found

    def link_into(self, folder: Path) -> None:
        """Hard-link the last commit into the new folder `folder`; call it right after `commit`."""
        link_commit(self._folder, folder)

    def close(self) -> None:
        """Drop uncommitted changes and release the lock."""
        self._writer.rollback()
        self._writer.wait_merging_threads()


def _documents(row: LexiconEntry) -> Iterator[Document]:
    """One document for each scope of a memory, and the companions of each (`lengths`)."""
    words = [
        (field, [stem for text in texts if text for stem in stems(text)])
        for field, texts in (
            ("text", (row.speaker, row.title, row.text)),
            ("context" if row.role or row.speaker else "section", (row.context,)),
            ("expansions", row.expansions),
        )
    ]
    title, text = storable(row.title), storable(row.text)
    exact = dict.fromkeys((*exact_tokens(title), *exact_tokens(text), *definition_tokens(text)))
    lengths = {**{field: len(tokens) for field, tokens in words}, EXACT: len(exact)}
    written, companions = padded(tuple(lengths.get(field, 0) for field in TYPICAL))
    padding = [length - lengths.get(field, 0) for field, length in zip(TYPICAL, written, strict=True)]
    for number, key in enumerate(scopes_of(row.tenant_id, row.owner, row.audience)):
        document = Document()
        document.add_integer("ordinal", row.ordinal)
        document.add_integer("event_at", row.event_at)
        for field, tokens in words:
            if tokens:
                document.add_text(field, key + f" {key}".join(tokens))
        for token in exact:
            document.add_text(EXACT, key + token)
        _fill(document, padding)
        document.add_text(SCOPE, key)
        if number:
            document.add_text(COPY, filter_value(COPY))
        for field, column in TERM_FIELDS.items():
            document.add_text(field, filter_value(getattr(row, column)))
        for flag in FLAGS:
            if flag not in row.flags:
                document.add_text(CLEAR_OF, filter_value(flag))
        yield document
        for companion in companions:
            document = Document()
            document.add_integer("ordinal", row.ordinal)
            document.add_text(COPY, filter_value(COPY))
            _fill(document, companion)
            yield document


def _fill(document: Document, counts: Sequence[int]) -> None:
    """Add fillers to each field of `TYPICAL`, in that order."""
    for field, count in zip(TYPICAL, counts, strict=True):
        if field == EXACT:
            for _ in range(count):
                document.add_text(field, FILLER)
        elif count:
            document.add_text(field, f"{FILLER} " * count)
