"""What a rebuild reads: an archive with gaps once, and every refusal that was noted."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helix_cli.rebuilding.refusals import FILE, Refusals
from helix_cli.rebuilding.source import Recorded, UpToGaps


def test_an_archive_with_gaps_is_read_once() -> None:
    """Its events come in runs without a gap; it is not read from its first event again at each."""
    sequences = [n for n in range(1, 400) if n % 3]
    readings = []

    def read() -> Iterator[Any]:
        readings.append(1)
        return (SimpleNamespace(sequence=one) for one in sequences)

    source, seen = UpToGaps(Recorded("archive", read, sequences[-1])), list[list[int]]()
    while found := asyncio.run(
        source.after(seen[-1][-1] if seen else 0, until=395 if len(seen) < 132 else 400, most=128)
    ):
        seen.append([one.sequence for one in found])
    assert [one for run in seen for one in run] == sequences
    assert max(map(len, seen)) == 2
    assert len(readings) == 1


def test_a_refusal_after_a_line_that_a_kill_cut_is_noted(tmp_path: Path) -> None:
    """Its dead letter would be lost with the line before."""
    refusals = Refusals(tmp_path)
    refusals.add("ingest", 1, "too long")
    refusals.add("ingest", 2, "too long")
    whole = (tmp_path / FILE).read_bytes()
    for cut in range(1, 12):
        (tmp_path / FILE).write_bytes(whole[:-cut])
        refusals.add("ingest", 2, "too long")
        refusals.add("ingest", 3, "no text")
        assert [sequence for _, sequence in refusals.noted()] == [1, 2, 3]
