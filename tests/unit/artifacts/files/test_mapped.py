"""Mapped arrays: pages are released and warmed; records are read without mapping."""

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helix_shared.artifacts.files import mapped as pages
from helix_shared.artifacts.files.mapped import mapped, read_single_pages, release_pages, warm
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


def open_handles() -> int:
    """Of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_mapped_array_holds_no_file_handle(tmp_path: Path) -> None:
    """It stays readable when its file is removed, and is unmapped when nothing refers to it any more."""
    np.save(tmp_path / "alone.npy", np.asfortranarray(np.arange(12).reshape(3, 4)))
    before = open_handles()
    array = mapped(tmp_path / "alone.npy")[1:]
    assert open_handles() == before
    (tmp_path / "alone.npy").unlink()
    assert array.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert "alone.npy" in Path("/proc/self/maps").read_text()
    del array
    assert "alone.npy" not in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize(
    "content", [b"", b"\x93NUMPY\x09\x00", b"no array at all", b"\x93NUMPY\x01\x00v\x00{"]
)
def test_what_is_no_array_is_refused(tmp_path: Path, content: bytes) -> None:
    """Also an array that is cut off, and one of objects, which would be code to run."""
    (tmp_path / "bad.npy").write_bytes(content)
    with pytest.raises(ValueError):  # noqa: PT011  of numpy
        mapped(tmp_path / "bad.npy")
    np.save(tmp_path / "cut.npy", np.arange(1_000))
    os.truncate(tmp_path / "cut.npy", 1_000)
    np.save(tmp_path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    for name in ("cut.npy", "objects.npy"):
        with pytest.raises(ValueError):  # noqa: PT011
            mapped(tmp_path / name)


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


def test_mapping_reads_the_header_alone(tmp_path: Path) -> None:
    """Values are read when they are used, as of a generation that nobody asks."""
    path = tmp_path / "cold.npy"
    with path.open("wb") as stream:
        np.save(stream, np.zeros((1 << 14, 384), np.float32))
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = bytes_from_disk()
    array = mapped(path)
    assert bytes_from_disk() - before <= 1 << 20
    assert array.sum() == 0


def read_of_one_row(folder: Path, *, single: bool) -> int:
    """Bytes read from the disk for one row of an array whose file the kernel does not hold."""
    path = folder / f"rows-{single}.npy"
    with path.open("wb") as stream:
        np.save(stream, np.zeros((1 << 20, 8), np.uint8))
        os.fsync(stream.fileno())
    array = mapped(path)
    if single:
        read_single_pages(array)
    with path.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = bytes_from_disk()
    assert array[700_000].sum() == 0
    return bytes_from_disk() - before


def bytes_from_disk() -> int:
    """Of this process, so far."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("read_bytes")))


def test_a_page_is_read_without_those_around_it(tmp_path: Path) -> None:
    """Where the kernel is told so; without, it reads many."""
    around = read_of_one_row(tmp_path, single=False)
    if not around:
        pytest.skip("files of this folder are in memory")
    assert around > 4 * mmap.PAGESIZE
    assert read_of_one_row(tmp_path, single=True) <= 2 * mmap.PAGESIZE


def test_an_array_that_is_read_page_by_page_can_be_warmed(tmp_path: Path) -> None:
    """As at the swap after the one that told the kernel so."""
    np.save(tmp_path / "again.npy", np.zeros((2_600, 384), np.float32))
    found = mapped(tmp_path / "again.npy")
    read_single_pages(found)
    warm(found)
    assert resident_kib("again.npy") >= found.nbytes // 1_024
    read_single_pages(np.arange(3))


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
