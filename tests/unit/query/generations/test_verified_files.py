"""The list of verified files is read back as written, and ignored when damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix_query.generations.verified_files import (
    read_verified_files,
    verified_files_path,
    write_verified_files,
)

VERIFIED = {("1:2:3:4", "a" * 64), ("1:5:6:7", "b" * 64)}


def test_a_list_is_read_back_as_written(tmp_path: Path) -> None:
    """The folder is created, a later list replaces an earlier one, and no other file is left."""
    path = verified_files_path(tmp_path / "cache", tmp_path / "data")
    assert read_verified_files(path) == set()
    assert write_verified_files(path, {("9:9:9:9", "c" * 64)})
    assert write_verified_files(path, VERIFIED)
    assert read_verified_files(path) == VERIFIED
    assert list(path.parent.iterdir()) == [path]


def test_every_data_folder_has_its_own_list(tmp_path: Path) -> None:
    """Two services of one machine do not overwrite each other's list."""
    assert verified_files_path(tmp_path, Path("/a")) != verified_files_path(tmp_path, Path("/b"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\x00",
        b"[]",
        json.dumps({"format_version": 2, "verified": {}}).encode(),
        json.dumps({"format_version": 1, "verified": {"1:2:3:4": "a" * 63}}).encode(),
        json.dumps({"format_version": 1, "verified": {"1:2:3:4": "a" * 64}}).encode()[:-9],
    ],
)
def test_a_damaged_list_is_ignored(tmp_path: Path, body: bytes) -> None:
    """All files are hashed then."""
    path = tmp_path / "verified.json"
    path.write_bytes(body)
    assert read_verified_files(path) == set()


def test_an_unwritable_folder_is_no_error(tmp_path: Path) -> None:
    """A read-only container starts as before."""
    (tmp_path / "cache").write_bytes(b"a file where the folder should be")
    assert not write_verified_files(tmp_path / "cache" / "verified.json", VERIFIED)
    assert read_verified_files(tmp_path / "cache" / "verified.json") == set()
    assert list(tmp_path.iterdir()) == [tmp_path / "cache"]
