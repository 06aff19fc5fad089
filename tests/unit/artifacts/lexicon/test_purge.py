"""A purge of the lexicon: no term of a deleted memory is left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from helix_shared.artifacts.lexicon import writer as writing
from helix_shared.artifacts.lexicon.files import segments_with_deletions
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter

from .test_search import entry, found


def test_a_purge_reads_every_other_memory_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it looks at the documents of few ordinals at a time, some of which have none."""
    monkeypatch.setattr(writing, "PURGE_BATCH_ORDINALS", 4)
    writer = LexiconWriter.create(tmp_path / "lexicon")
    ordinals = [0, 3, 4, 5, 17, 30]
    writer.upsert([entry(ordinal, text="word") for ordinal in ordinals])
    writer.commit()
    writer.delete([4])
    read: list[int] = []

    def entries(asked: Sequence[int]) -> list[LexiconEntry]:
        read.extend(asked)
        return [entry(one, text="word") for one in asked]

    writer.purge(entries)
    assert read == [0, 3, 5, 17, 30]
    assert segments_with_deletions(tmp_path / "lexicon") == []


def test_nothing_of_a_deleted_memory_is_left(tmp_path: Path) -> None:
    """Neither the document nor its term; an index that becomes empty is purged as well."""
    writer = LexiconWriter.create(tmp_path / "lexicon")
    writer.upsert([entry(0, text="secret"), entry(5, text="word")])
    writer.commit()
    writer.delete([0])
    writer.purge(lambda ordinals: [entry(one, text="word") for one in ordinals])
    assert segments_with_deletions(tmp_path / "lexicon") == []
    reader = LexiconReader(tmp_path / "lexicon", scratch=tmp_path / "scratch")
    assert (found(reader, "word"), found(reader, "secret")) == ([5], [])
    writer.delete([5])
    writer.purge(lambda _: [])
    assert writer.count == 0
