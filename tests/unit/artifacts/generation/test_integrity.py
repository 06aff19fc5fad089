"""Verification of a generation: damage is refused, verified files are not read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.erasures.receipts import RECEIPTS, all_receipts
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.cloning import clone
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import FORMAT_VERSION, MANIFEST_NAME, Manifest
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.errors import CorruptArtifactError

Records = Callable[[list[dict[str, Any]]], pa.Table]
Fill = Callable[[Live, pa.Table], None]
ManifestOf = Callable[..., Manifest]
ACME = Selection("acme")
QUERY = np.ones(8, np.float32)


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
    """Missing, truncated, replaced, added and linked files are detected in every artifact."""
    damage(folder_of(root, published.generation) / place)
    with pytest.raises(CorruptArtifactError):
        verify(folder_of(root, published.generation), verified=set())


def test_a_flipped_bit_is_detected(root: Path, published: Manifest) -> None:
    """A flipped bit in any file makes `verify` refuse the generation."""
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
    """Only new files are read, and `verified` holds the files of one generation."""
    fill(live, records([{} for _ in range(9)]))
    first = publish(root, live, manifest_of(live, 1))
    verified: set[tuple[str, str]] = set()
    verify(folder_of(root, 1), verified=verified)
    assert len(verified) == len(first.files)
    fill(live, records([{"ordinal": 9}]))
    second = publish(root, live, manifest_of(live, 2, parent=1))
    before = set(verified)
    verify(folder_of(root, 2), verified=verified)
    assert len(verified) == len(second.files)
    assert len(verified & before) >= 10


@pytest.mark.parametrize("path", ["../CURRENT", "/etc/passwd", "a/../../b", "a\\b", "", ".", "a//b", "./a"])
def test_a_manifest_that_points_outside_is_refused(root: Path, published: Manifest, path: str) -> None:
    """A path must stay inside the folder and have one spelling."""
    file = folder_of(root, 1) / MANIFEST_NAME
    inside = f'"{published.files[0].path}"'
    outside = '"' + path.replace("\\", "\\\\") + '"'
    file.write_text(file.read_text().replace(inside, outside))
    with pytest.raises(CorruptArtifactError, match="damaged"):
        verify(folder_of(root, 1), verified=set())
    with pytest.raises(CorruptArtifactError, match="damaged"):
        clone(root, 1, root / "clone")


@pytest.mark.parametrize("body", [b"", b"[", b"\xff", b"null", b"[" * 100_000, b'{"generation": 1e400}'])
def test_a_manifest_of_anything_else_is_refused(tmp_path: Path, body: bytes) -> None:
    """Also what is nested so deeply that a parser gives up."""
    (tmp_path / MANIFEST_NAME).write_bytes(body)
    with pytest.raises(CorruptArtifactError, match="damaged"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize("body", [b"rubbish\n", b'{"event":x,\n', b'{"event":1', b'{"event":1,"places":[]}'])
def test_a_damaged_receipt_is_refused(tmp_path: Path, body: bytes) -> None:
    """Wherever its line is damaged."""
    (tmp_path / RECEIPTS).mkdir()
    (tmp_path / RECEIPTS / "seg-000001.jsonl").write_bytes(body)
    with pytest.raises(CorruptArtifactError, match="receipt"):
        all_receipts(tmp_path)


def test_an_unknown_format_is_refused(
    root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf
) -> None:
    """A generation of a later format is not read."""
    fill(live, records([{}]))
    publish(root, live, manifest_of(live, 1).model_copy(update={"format_version": FORMAT_VERSION + 1}))
    with pytest.raises(CorruptArtifactError, match=f"format {FORMAT_VERSION + 1}"):
        verify(folder_of(root, 1), verified=set())
