"""Published generations: complete or absent, and not changed by later writes."""

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


def test_a_generation_holds_what_was_written(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """All four artifacts hold the same memories; the manifest has the counts and names every file."""
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


def test_an_open_generation_does_not_change(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """A reader of the first generation does not see the second."""
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


def test_a_clone_continues_its_generation(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """After a restart all four writers continue, extras are there, and the generation is unchanged."""
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


def test_unchanged_files_are_shared_between_generations(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """An unchanged graph and unchanged segments are the same files in both generations."""
    fill(live, records([{} for _ in range(9)]))
    first = publish(root, live, manifest_of(live, 1))
    fill(live, records([{"ordinal": 3, "access_count": 1}]))
    second = publish(root, live, manifest_of(live, 2, parent=1))
    shared = {entry.path for entry in first.files} & {entry.path for entry in second.files}
    for path in ("graph/base/indices.npy", "signals/seg-000001/vector.npy"):
        assert path in shared
        assert (folder_of(root, 1) / path).samefile(folder_of(root, 2) / path)


def test_a_generation_is_published_once(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """The same or a lower number is refused, so a writer that lost its lease cannot publish."""
    fill(live, records([{}]))
    for number in (1, 2):
        publish(root, live, manifest_of(live, number))
    before = (folder_of(root, 2) / MANIFEST_NAME).read_bytes()
    for number in (1, 2):
        with pytest.raises(PermanentError, match="another writer"):
            publish(root, live, manifest_of(live, number, epoch=9))
    assert current_number(root) == 2
    assert (folder_of(root, 2) / MANIFEST_NAME).read_bytes() == before


def test_a_generation_that_never_became_current_is_replaced(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """After a crash between rename and CURRENT, only a writer with the same or a later epoch replaces it."""
    fill(live, records([{}]))
    publish(root, live, manifest_of(live, 1))
    publish(root, live, manifest_of(live, 2, epoch=5))
    (root / "CURRENT").write_text("1\n")
    with pytest.raises(PermanentError, match="later epoch"):
        publish(root, live, manifest_of(live, 2, epoch=4))
    publish(root, live, manifest_of(live, 2, epoch=5))
    assert current_number(root) == 2
    verify(folder_of(root, 2), verified=set())


def test_a_damaged_generation_that_never_became_current_is_replaced(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """Nobody could open it, and it would be in the way of every later generation."""
    fill(live, records([{}]))
    folder_of(root, 1).mkdir(parents=True)
    (folder_of(root, 1) / MANIFEST_NAME).write_bytes(b"rubbish")
    manifest = publish(root, live, manifest_of(live, 1))
    assert verify(folder_of(root, 1), verified=set()) == manifest


def test_stores_that_disagree_are_not_published(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """A memory missing from one store or an unexpected count stops the publication."""
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
    """The newest and the young ones stay; the others are removed completely."""
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


@pytest.mark.parametrize("name", ["1", "\u00b2", "\u0661", "000000000001.bak"])
def test_a_folder_that_is_no_generation_stays(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf, name: str
) -> None:
    """One that an operator left beside the generations stops neither retiring nor reading."""
    fill(live, records([{}]))
    publish(root, live, manifest_of(live, 2))
    other = folder_of(root, 2).with_name(name)
    other.mkdir()
    assert published_numbers(root) == [2]
    assert retire(root, now=datetime.now(UTC), keep=1, min_age_seconds=0) == []
    assert other.is_dir()


def test_generations_from_the_future_are_retired(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """The clock was a day ahead and is right again: they must not stay for a day; young ones do."""
    fill(live, records([{}]))
    for number in range(1, 6):
        publish(root, live, manifest_of(live, number))
    now = datetime.now(UTC)
    assert retire(root, now=now - timedelta(seconds=30), keep=3, min_age_seconds=60) == []
    assert retire(root, now=now - timedelta(days=1), keep=3, min_age_seconds=60) == [2, 1]


def test_a_folder_without_generations_has_no_current_one(root: Path) -> None:
    """Without generations there is no number; CURRENT without a number is an error."""
    assert (
        current_number(root),
        published_numbers(root),
        retire(root, now=datetime.now(UTC), keep=3, min_age_seconds=0),
    ) == (
        None,
        [],
        [],
    )
    root.mkdir()
    (root / "CURRENT").write_text("twelve")
    with pytest.raises(CorruptArtifactError, match="holds no number"):
        current_number(root)


def test_published_files_can_be_read_by_everyone(root: Path, published: Manifest) -> None:
    """The query service may run as another user."""
    modes = {(folder_of(root, 1) / entry.path).stat().st_mode & 0o777 for entry in published.files}
    assert modes == {0o644}
