"""The search of object storage: what engines hide is found, and a part that is missing is no clean place."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_cli.residue.buckets import buckets_of, residue_in_buckets
from helix_cli.residue.canaries import Canaries
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.object_storage.collecting import Collector
from helix_shared.artifacts.object_storage.layout import part_path
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.artifacts.object_storage.uploading import Uploader
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import Bench, Stream, bench, make_bench, row, stream
from tests.unit.consolidation.stores.test_erasure import erase

__all__ = ["bench", "make_bench", "stream"]
WORD = "xyzzysecret"


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    """A bucket in a folder."""
    return open_store(f"file://{tmp_path}/bucket")


def told(bench: Bench, stream: Stream, sequence: int) -> Manifest:
    """One more memory with the word in the published generation."""
    said = row("acme", f"e{sequence}", sequence, f"The {WORD} is number {sequence}", session_id="s")
    bench.apply(stream.memories("acme", f"e{sequence}", sequence, [said]))
    return bench.publish()


def found(store: ObjectStore) -> tuple[set[str], dict[str, str]]:
    """The places below the bucket with the word, and what could not be read."""
    residue = residue_in_buckets([store.url], Canaries.of_words([WORD]), credentials=None)
    return {place.removeprefix(f"{store.url}/") for place in residue.counts}, residue.unread


def test_a_word_is_found_in_every_generation_until_it_is_collected(
    bench: Bench, stream: Stream, store: ObjectStore
) -> None:
    """In the lexicon by its terms; after the erasure and the collection nowhere."""
    uploader = Uploader(store, bench.folder, grace_seconds=600.0)
    for sequence in (1, 2):
        told(bench, stream, sequence)
        uploader.upload()
    places, unread = found(store)
    assert unread == {}
    folders = {place.partition("/")[0] for place in places}
    assert {folder.partition("-")[2] for folder in folders} == {"1", "2"}
    assert {f"{folder}/lexicon terms of text" for folder in folders} <= places
    assert buckets_of([bench.folder]) == [store.url]
    bench.apply(erase(3, *(memory_id("acme", f"e{n}", 0) for n in (1, 2))))
    erased = bench.publish().generation
    uploader.upload()
    assert found(store)[0], "the control: the generations before are still there"
    pointed = uploader.pointed
    assert pointed is not None
    Collector(store, keep=1, grace_seconds=600.0).collect(pointed, erased_before=erased)
    assert found(store) == (set(), {})


def test_a_part_that_no_manifest_names_is_searched_as_bytes(store: ObjectStore, tmp_path: Path) -> None:
    """As a killed upload leaves one."""
    (tmp_path / "part").write_text(f"the {WORD}")
    path = part_path("ab" * 32)
    store.upload(path, tmp_path / "part")
    assert found(store) == ({path}, {})


def test_what_is_missing_or_unreachable_is_named(bench: Bench, stream: Stream, store: ObjectStore) -> None:
    """A place that was not searched is not clean."""
    manifest = told(bench, stream, 1)
    Uploader(store, bench.folder, grace_seconds=600.0).upload()
    lost = part_path(manifest.files[0].sha256)
    store.delete([lost])
    assert found(store)[1].keys() == {f"{store.url}/{lost}"}
    unread = residue_in_buckets(["ftp://elsewhere"], Canaries.of_words([WORD]), credentials=None).unread
    assert unread.keys() == {"ftp://elsewhere"}


def test_a_folder_without_uploads_names_no_bucket(tmp_path: Path) -> None:
    """Then nothing is searched."""
    assert buckets_of([tmp_path]) == []
