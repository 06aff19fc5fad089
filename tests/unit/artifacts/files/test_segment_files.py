"""Segments of an append-only log: their order is that of the appends."""

from __future__ import annotations

from pathlib import Path

from helix_shared.artifacts.files.segment_files import Merge, SegmentFiles


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="ascii").splitlines())


def _append(folder: Path, line: str) -> None:
    def write(merge: Merge) -> int:
        older = "".join(path.read_text(encoding="ascii") for path in merge.segments)
        merge.target.write_text(f"{older}{line}\n", encoding="ascii")
        return _lines(merge.target)

    SegmentFiles(folder, ".txt", _lines).append(1, write)


def test_a_millionth_segment_comes_after_the_one_before(tmp_path: Path) -> None:
    """The order is that of the numbers, also where one has a digit more."""
    (tmp_path / "seg-999999.txt").write_text("a\nb\nc\n", encoding="ascii")
    _append(tmp_path, "d")
    assert [path.name for path in SegmentFiles(tmp_path, ".txt", _lines).files] == [
        "seg-999999.txt",
        "seg-1000000.txt",
    ]
    _append(tmp_path, "e")
    [merged] = SegmentFiles(tmp_path, ".txt", _lines).files
    assert merged.read_text(encoding="ascii").split() == ["a", "b", "c", "d", "e"]
