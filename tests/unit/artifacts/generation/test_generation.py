"""Generations: whole or absent, verified byte for byte, and unmoved by what the writer does next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.cloning import clone
from helix_shared.artifacts.generation.folders import current_number, folder_of, published_numbers
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.generation.retiring import retire
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.errors import CorruptArtifactError, PermanentError

Records = Callable[[list[dict[str, Any]]], pa.Table]
Fill = Callable[[Live, pa.Table], None]
ManifestOf = Callable[..., Manifest]
ACME = Selection("acme")
QUERY = np.ones(8, np.float32)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The data folder."""
    return tmp_path / "data"


@pytest.fixture
def published(root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf) -> Manifest:
    """A generation of a few memories, number 1."""
    fill(live, records([{"text": f"word {index}"} for index in range(4)]))
    live.graph.set_links(0, "acme", [Link("MENTIONS", "name", "ann", "Ann", 1.0)])
    return publish(root, live, manifest_of(live, 1))


def test_a_generation_holds_what_was_written(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """All four artifacts tell of the same memories; the manifest counts them and names every file."""
    fill(live, records([{"text": "tea"}, {"text": "coffee"}, {"text": "milk", "hidden": True}]))
    live.graph.set_links(1, "acme", [Link("MENTIONS", "name", "coffee", "Coffee", 1.0)])
    manifest = publish(root, live, manifest_of(live, 1))
    assert (current_number(root), published_numbers(root)) == (1, [1])
    counts = manifest.counts
    assert (counts.memories, counts.hidden, counts.lexicon, counts.signals) == (3, 1, 2, 3)
    assert (counts.nodes, counts.entities, counts.edges) == (4, 1, 2)
    assert verify(folder_of(root, 1), verified=set()) == manifest
    opened = Generation.open(root, 1)
    assert opened.lexicon.search("coffee", ACME, limit=3).ordinals.tolist() == [1]
    assert sorted(opened.vectors.search(QUERY, ACME, limit=3).ordinals.tolist()) == [0, 1]
    assert opened.graph.entities_of(np.array([1])) == [("coffee",)]
    assert opened.signals.hidden.tolist() == [False, False, True]
    opened.close()


def test_an_open_generation_does_not_move(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """Readers of the first generation see the first; readers of the second the second."""
    fill(live, records([{"text": "first"}, {"text": "stays"}]))
    publish(root, live, manifest_of(live, 1))
    old = Generation.open(root, 1)
    fill(live, records([{"text": "second", "token_count": 5}]))
    live.graph.set_links(0, "acme", [Link("MENTIONS", "name", "x", "X", 1.0)])
    live.vectors.maintain(force=True)
    publish(root, live, manifest_of(live, 2, parent=1))
    new = Generation.open(root, 2, previous=old)
    for generation, text, tokens, entities in ((old, "first", 0, []), (new, "second", 5, ["x"])):
        assert generation.vectors.take([0], columns=["text"])["text"].to_pylist() == [text]
        assert generation.lexicon.search(text, ACME, limit=2).ordinals.tolist() == [0]
        assert generation.signals.token_count.tolist() == [tokens, 0]
        assert generation.graph.entities_of(np.array([0])) == [tuple(entities)]
        assert len(generation.vectors.search(QUERY, ACME, limit=9)) == 2
    assert len(old.lexicon.search("second", ACME, limit=2)) == 0
    verify(folder_of(root, 1), verified=set())


def test_a_clone_goes_on_where_the_generation_stopped(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """After a restart all four writers continue, extras are back, and the generation is untouched."""
    fill(live, records([{"text": "one"}, {"text": "two"}]))
    live.graph.set_links(0, "acme", [Link("MENTIONS", "name", "ann", "Ann", 1.0)])
    publish(root, live, manifest_of(live, 1), extras={"writer/state.json": b"{}"})
    fill(live, records([{"text": "lost in the crash"}]))
    live.close()
    clone(root, 1, root / "live")
    assert (root / "live" / "writer" / "state.json").read_bytes() == b"{}"
    again = Live.open(root / "live")
    assert again.vectors.take([0])["text"].to_pylist() == ["one"]
    assert (again.lexicon.count, again.signals.count) == (2, 2)
    fill(again, records([{"ordinal": 2, "text": "three"}]))
    again.graph.set_links(2, "acme", [Link("MENTIONS", "name", "ann", "Ann", 1.0)])
    again.vectors.maintain(force=True)
    publish(root, again, manifest_of(again, 2, parent=1))
    verify(folder_of(root, 1), verified=set())
    generation = Generation.open(root, 2)
    assert generation.lexicon.search("three two one", ACME, limit=9).ordinals.tolist() == [0, 1, 2]
    assert generation.graph.degrees(generation.graph.entity_nodes("acme", ["ann"])).tolist() == [2]


def test_files_known_already_are_neither_hashed_nor_written_again(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """Unchanged segments and an unchanged graph are the same files in both generations."""
    fill(live, records([{} for _ in range(9)]))
    first = publish(root, live, manifest_of(live, 1))
    fill(live, records([{"ordinal": 3, "access_count": 1}]))
    second = publish(root, live, manifest_of(live, 2, parent=1))
    shared = {entry.path for entry in first.files} & {entry.path for entry in second.files}
    for path in ("graph/base/indices.npy", "signals/seg-000001/vector.npy"):
        assert path in shared
        assert (folder_of(root, 1) / path).samefile(folder_of(root, 2) / path)


def link_away(path: Path) -> None:
    """Replace a file by a symbolic link to it."""
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "swapped": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "extra": lambda path: path.with_name("extra").write_bytes(b"x"),
    "linked": link_away,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
@pytest.mark.parametrize(
    "place", ["graph/base/indptr.npy", "lexicon/meta.json", "signals/seg-000001/vector.npy"]
)
def test_a_damaged_generation_is_refused(
    root: Path, published: Manifest, place: str, damage: Callable[[Path], object]
) -> None:
    """Missing, cut, replaced, added and linked files are all noticed, whichever artifact has them."""
    damage(folder_of(root, published.generation) / place)
    with pytest.raises(CorruptArtifactError):
        verify(folder_of(root, published.generation), verified=set())


def test_every_flipped_bit_is_noticed(root: Path, published: Manifest) -> None:
    """One bit in any file of a generation, whichever, makes it refused."""
    draw = np.random.default_rng(3)
    for entry in published.files:
        path = folder_of(root, 1) / entry.path
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[int(draw.integers(len(damaged)))] ^= 1 << int(draw.integers(8))
        path.write_bytes(bytes(damaged))
        with pytest.raises(CorruptArtifactError, match="checksum"):
            verify(folder_of(root, 1), verified=set())
        path.write_bytes(whole)
    verify(folder_of(root, 1), verified=set())


def test_verified_files_are_not_read_again(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """A later generation costs its new files only, and what is known is bounded by one generation."""
    fill(live, records([{} for _ in range(9)]))
    first = publish(root, live, manifest_of(live, 1))
    known: set[tuple[str, str]] = set()
    verify(folder_of(root, 1), verified=known)
    assert len(known) == len(first.files)
    fill(live, records([{"ordinal": 9}]))
    second = publish(root, live, manifest_of(live, 2, parent=1))
    before = set(known)
    verify(folder_of(root, 2), verified=known)
    assert len(known) == len(second.files)
    assert len(known & before) >= 10


@pytest.mark.parametrize("path", ["../CURRENT", "/etc/passwd", "a/../../b", "a\\b", "", ".", "a//b", "./a"])
def test_a_manifest_that_points_outside_is_refused(root: Path, published: Manifest, path: str) -> None:
    """No path of a manifest leads out of its folder or is written in two ways."""
    file = folder_of(root, 1) / MANIFEST_NAME
    inside = f'"{published.files[0].path}"'
    outside = '"' + path.replace("\\", "\\\\") + '"'
    file.write_text(file.read_text().replace(inside, outside))
    with pytest.raises(CorruptArtifactError, match="damaged"):
        verify(folder_of(root, 1), verified=set())
    with pytest.raises(CorruptArtifactError, match="damaged"):
        clone(root, 1, root / "clone")


def test_an_unknown_format_is_refused(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """A generation of a later Helix is not read by guesswork."""
    fill(live, records([{}]))
    publish(root, live, manifest_of(live, 1).model_copy(update={"format_version": 9}))
    with pytest.raises(CorruptArtifactError, match="format 9"):
        verify(folder_of(root, 1), verified=set())


def test_a_generation_is_published_once(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """The same or a lower number is refused, so a writer that was overtaken cannot publish."""
    fill(live, records([{}]))
    for number in (1, 2):
        publish(root, live, manifest_of(live, number))
    before = (folder_of(root, 2) / MANIFEST_NAME).read_bytes()
    for number in (1, 2):
        with pytest.raises(PermanentError, match="another writer"):
            publish(root, live, manifest_of(live, number, epoch=9))
    assert current_number(root) == 2
    assert (folder_of(root, 2) / MANIFEST_NAME).read_bytes() == before


def test_a_generation_never_announced_is_cleared_by_a_later_writer_only(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """A crash between rename and CURRENT blocks nobody, and a stale writer does not clear it."""
    fill(live, records([{}]))
    publish(root, live, manifest_of(live, 1))
    publish(root, live, manifest_of(live, 2, epoch=5))
    (root / "CURRENT").write_text("1\n")
    with pytest.raises(PermanentError, match="later epoch"):
        publish(root, live, manifest_of(live, 2, epoch=4))
    publish(root, live, manifest_of(live, 2, epoch=5))
    assert current_number(root) == 2
    verify(folder_of(root, 2), verified=set())


def test_stores_that_disagree_are_not_published(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """A memory missing in one store, or a count the writer did not expect, stops the publication."""
    fill(live, records([{}, {}]))
    claimed = manifest_of(live, 1)
    live.lexicon.delete([1])
    live.lexicon.commit()
    with pytest.raises(CorruptArtifactError, match="stores disagree"):
        publish(root, live, claimed)
    fill(live, records([{}, {}, {}]))
    with pytest.raises(CorruptArtifactError, match="stores disagree"):
        publish(root, live, claimed)
    assert (current_number(root), published_numbers(root)) == (None, [])
    publish(root, live, manifest_of(live, 1))
    assert current_number(root) == 1


def test_old_generations_are_retired(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """Neither the last ones nor young ones go; the rest goes whole."""
    fill(live, records([{}]))
    for number in range(1, 6):
        publish(root, live, manifest_of(live, number))
    now = datetime.now(UTC)
    assert retire(root, now=now, keep=3, min_age_seconds=60) == []
    assert retire(root, now=now + timedelta(seconds=61), keep=3, min_age_seconds=60) == [2, 1]
    assert published_numbers(root) == [5, 4, 3]
    assert retire(root, now=now + timedelta(seconds=61), keep=0, min_age_seconds=0) == [4, 3]
    verify(folder_of(root, 5), verified=set())
    assert not list((root / "staging").iterdir())


def test_a_folder_without_generations_has_no_current_one(root: Path) -> None:
    """Nothing published yet is an answer; a CURRENT without a number is damage."""
    assert (current_number(root), published_numbers(root), retire(root, now=datetime.now(UTC))) == (
        None,
        [],
        [],
    )
    root.mkdir()
    (root / "CURRENT").write_text("twelve")
    with pytest.raises(CorruptArtifactError, match="holds no number"):
        current_number(root)


def test_published_files_can_be_read_by_everyone(root: Path, published: Manifest) -> None:
    """The query service may be another user."""
    modes = {(folder_of(root, 1) / entry.path).stat().st_mode & 0o777 for entry in published.files}
    assert modes == {0o644}
