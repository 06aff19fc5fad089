"""The receipt of verified files: it saves reading, and vouches for nothing else."""

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


def test_a_receipt_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """The folder is made; a later receipt replaces the whole of an earlier one; nothing else is left."""
    path = verified_files_path(tmp_path / "cache", tmp_path / "data")
    assert read_verified_files(path) == set()
    assert write_verified_files(path, {("9:9:9:9", "c" * 64)})
    assert write_verified_files(path, VERIFIED)
    assert read_verified_files(path) == VERIFIED
    assert list(path.parent.iterdir()) == [path]


def test_every_data_folder_has_a_receipt_of_its_own(tmp_path: Path) -> None:
    """Two services of one machine do not overwrite each other's."""
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
def test_a_damaged_receipt_is_ignored(tmp_path: Path, body: bytes) -> None:
    """It only saves time, so nothing is guessed from it."""
    path = tmp_path / "verified.json"
    path.write_bytes(body)
    assert read_verified_files(path) == set()


def test_a_folder_that_cannot_hold_a_receipt_costs_nothing_else(tmp_path: Path) -> None:
    """A read-only container starts as before."""
    (tmp_path / "cache").write_bytes(b"a file where the folder should be")
    assert not write_verified_files(tmp_path / "cache" / "verified.json", VERIFIED)
    assert read_verified_files(tmp_path / "cache" / "verified.json") == set()
    assert list(tmp_path.iterdir()) == [tmp_path / "cache"]
