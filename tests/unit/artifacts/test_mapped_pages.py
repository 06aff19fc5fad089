"""What is mapped and copied gives its pages back; lines are read without keeping any."""

from pathlib import Path

import numpy as np
import pytest

from helix_shared.artifacts.lines import open_lines, write_lines
from helix_shared.artifacts.mapped import mapped, put_aside


def resident_kib(name: str) -> int:
    """Of the mappings of files of this name in this process."""
    found, counting = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0] and ":" not in line.split()[0]:
            counting = line.endswith(name)
        elif counting and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


def test_pages_of_an_array_that_was_copied_are_given_back(tmp_path: Path) -> None:
    """Its values are there all the same when somebody looks again, through a view too."""
    np.save(tmp_path / "aside.npy", np.arange(1 << 20))
    array = mapped(tmp_path / "aside.npy")
    assert int(array.sum()) == (1 << 20) * ((1 << 20) - 1) // 2
    assert resident_kib("aside.npy") >= 8_000
    put_aside(array[1:])
    assert resident_kib("aside.npy") < 100
    assert array[-1] == (1 << 20) - 1
    put_aside(np.arange(3))


def test_lines_stay_out_of_the_process(tmp_path: Path) -> None:
    """Ten megabytes are read line by line, and none is mapped."""
    write_lines(tmp_path, [b"x" * 10_000 for _ in range(1_000)])
    lines = open_lines(tmp_path)
    assert {len(lines.line(row)) for row in range(1_000)} == {10_000}
    assert resident_kib("lines.jsonl") == 0


def test_lines_that_were_cut_off_are_told(tmp_path: Path) -> None:
    """A file that shrinks under a reader is no endless wait and no half a line."""
    write_lines(tmp_path, [b"one", b"two"])
    lines = open_lines(tmp_path)
    (tmp_path / "lines.jsonl").write_bytes(b"one\nt")
    assert lines.line(0) == b"one"
    with pytest.raises(OSError, match="lines end at byte 5"):
        lines.line(1)
