"""Mapped arrays: pages are released and warmed; records are read without mapping."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helix_shared.artifacts.files import mapped as pages
from helix_shared.artifacts.files.mapped import mapped, release_pages, warm
from helix_shared.artifacts.signals.record_file import open_records, write_records


def resident_kib(name: str) -> int:
    """Resident memory of the mappings of this file in this process, in KiB."""
    found, counting = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0] and ":" not in line.split()[0]:
            counting = line.endswith(name)
        elif counting and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


def test_pages_of_a_copied_array_are_released(tmp_path: Path) -> None:
    """Its values can be read again afterwards; a view releases the whole array."""
    np.save(tmp_path / "aside.npy", np.arange(1 << 20))
    array = mapped(tmp_path / "aside.npy")
    assert int(array.sum()) == (1 << 20) * ((1 << 20) - 1) // 2
    assert resident_kib("aside.npy") >= 8_000
    release_pages(array[1:])
    assert resident_kib("aside.npy") < 100
    assert array[-1] == (1 << 20) - 1
    release_pages(np.arange(3))


@pytest.mark.parametrize("dtype", [np.dtype([("step", np.float32), ("codes", np.int8, (384,))]), np.float32])
def test_a_warmed_array_is_resident(tmp_path: Path, dtype: Any) -> None:
    """For every form of stored vectors, and for an empty array."""
    array = np.zeros(10_000, dtype) if dtype != np.float32 else np.zeros((2_600, 384), dtype)
    np.save(tmp_path / "warmed.npy", array)
    found = mapped(tmp_path / "warmed.npy")
    assert resident_kib("warmed.npy") < 1_000
    warm(found)
    assert resident_kib("warmed.npy") >= array.nbytes // 1_024
    warm(found[:0])


def test_an_array_larger_than_the_share_is_not_warmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would evict other pages."""
    np.save(tmp_path / "large.npy", np.zeros((2_600, 384), np.float32))
    monkeypatch.setattr(pages, "WARMED_SHARE", 1e-9)
    warm(mapped(tmp_path / "large.npy"))
    assert resident_kib("large.npy") < 1_000


def test_records_are_not_mapped(tmp_path: Path) -> None:
    """Ten megabytes of records are read, and none of them is mapped."""
    write_records(tmp_path, [b"x" * 10_000 for _ in range(1_000)])
    lines = open_records(tmp_path)
    assert {len(lines.line(row)) for row in range(1_000)} == {10_000}
    assert resident_kib("lines.jsonl") == 0


def test_a_shrunken_file_of_records_is_an_error(tmp_path: Path) -> None:
    """A file that shrinks while it is open causes an error, not an endless loop or a partial record."""
    write_records(tmp_path, [b"one", b"two"])
    lines = open_records(tmp_path)
    (tmp_path / "lines.jsonl").write_bytes(b"one\nt")
    assert lines.line(0) == b"one"
    with pytest.raises(OSError, match="records end at byte 5"):
        lines.line(1)
