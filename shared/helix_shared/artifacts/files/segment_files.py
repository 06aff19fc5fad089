"""An append-only log as a few immutable files: every append writes one, merged with smaller ones before it.

Neighbouring segments are merged until each is `MERGE_RATIO` times the next, so a row is rewritten a
logarithmic number of times. Generations hold hard links of the segments: a merge or a rewrite makes new files
and leaves the linked ones as they are. The caller reads and writes the content.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

MERGE_RATIO: Final = 3
PREFIX: Final = "seg-"
_STAGING: Final = ".new-"


def oldest_first(paths: Iterable[Path]) -> list[Path]:
    """Segments in the order of their numbers, which have six digits or, from a million on, more."""
    return sorted(
        (path for path in paths if path.name.startswith(PREFIX)), key=lambda path: (len(path.name), path.name)
    )


@dataclass(frozen=True, slots=True)
class Merge:
    """What the new segment holds: the rows of `segments`, oldest first, then the new rows."""

    segments: Sequence[Path]
    target: Path
    """File to write; it becomes the segment once it is complete."""
    is_whole: bool
    """Whether no older segment is left."""


class SegmentFiles:
    """The segments in a folder, which may be new; one thread of one process writes.

    `count` gives the rows of a file and raises what the caller raises for a damaged one. Segments of `most`
    rows or more are not merged again.
    """

    def __init__(
        self, folder: Path, suffix: str, count: Callable[[Path], int], *, most: int | None = None
    ) -> None:
        self._folder = folder
        self._suffix = suffix
        self._most = most
        folder.mkdir(parents=True, exist_ok=True)
        self._segments = [(path, count(path)) for path in oldest_first(folder.iterdir())]

    @property
    def files(self) -> list[Path]:
        """The segments, oldest first; the files never change."""
        return [path for path, _ in self._segments]

    @property
    def counts(self) -> list[int]:
        """Rows of the segments, oldest first."""
        return [count for _, count in self._segments]

    def append(self, rows: int, write: Callable[[Merge], int]) -> int:
        """Add a segment of `rows` new rows, merged with the newest ones as `MERGE_RATIO` requires.

        `write` writes `Merge.target` and returns its number of rows. Returns the index of the new segment:
        later ones are gone.
        """
        start, count = len(self._segments), rows
        while start and self._is_merged(self._segments[start - 1][1], count):
            start -= 1
            count += self._segments[start][1]
        merged = [path for path, _ in self._segments[start:]]
        number = int(self._segments[-1][0].stem.removeprefix(PREFIX)) + 1 if self._segments else 1
        path = self._folder / f"{PREFIX}{number:06d}{self._suffix}"
        staging = path.with_name(_STAGING + path.name)
        written = write(Merge(merged, staging, is_whole=start == 0))
        staging.rename(path)
        self._segments[start:] = [(path, written)]
        for old in merged:
            os.unlink(old)  # noqa: PTH108 - generations hold links of their own
        return start

    def rewrite(self, index: int, write: Callable[[Path, Path], None]) -> None:
        """Replace a segment by a file with as many rows: `write(segment, target)`."""
        path, _ = self._segments[index]
        staging = path.with_name(_STAGING + path.name)
        write(path, staging)
        staging.replace(path)

    def _is_merged(self, older: int, newer: int) -> bool:
        return older < MERGE_RATIO * newer and (self._most is None or older < self._most)
