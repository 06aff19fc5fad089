"""Opening a tantivy index, and counting its memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tantivy import Index, Schema, Searcher

from helix_shared.artifacts.lexicon.query import copies_query
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path


def open_index(folder: Path) -> Index:
    """The index in `folder` at its last commit.

    Raises:
        CorruptArtifactError: it cannot be read.
    """
    try:
        return Index.open(str(folder))
    except (ValueError, OSError) as error:
        raise CorruptArtifactError(f"lexicon cannot be read: {folder}") from error


def memories_of(searcher: Searcher, schema: Schema) -> int:
    """Number of memories in the index."""
    return int(searcher.num_docs) - copies_of(searcher, schema)


def copies_of(searcher: Searcher, schema: Schema) -> int:
    """Number of documents that are not the first one of their memory."""
    # the stubs of tantivy lack `count`
    found: Any = searcher.search(copies_query(schema), limit=1, count=True)
    return int(found.count or 0)
