"""Walks memories in order over the segments of a generation, until a page is full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.listing.cursor import Cursor
from helix_query.scheduling.deadline import raise_if_overdue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.generations.sorted_run import SortedRun
    from helix_query.recall.visibility import Mask
    from helix_shared.artifacts.signals.reader import Signals

MOST_SCANNED: Final = 16_384
"""About how many memories one page reads at most; a page that found too few names where it stopped."""
MOST_RECORDS: Final = 2_048
"""The same where the record of each is read, which takes about ten microseconds."""
FIRST_CHUNK: Final = 256
LARGEST_CHUNK: Final = 8_192


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some memories one after another: keys [n] and ordinals [n] of those that are visible, and the end."""

    keys: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    end: Cursor
    """The last memory read, visible or not."""


@dataclass(frozen=True, slots=True)
class Page:
    """Ordinals of a page in order, and where the next one begins; None: there is none."""

    ordinals: NDArray[np.int64]
    end: Cursor | None


def page_of(
    runs: Sequence[SortedRun],
    signals: Signals,
    is_visible: Mask,
    *,
    after: Cursor | None,
    newest_first: bool,
    size: int,
    until: float,
    most: int = MOST_SCANNED,
) -> Page:
    """The next `size` visible memories of `runs`, in order of key and ordinal, behind the cursor `after`.

    About `most` are read at most.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    keys, ordinals, end = [np.empty(0, np.int64)], [np.empty(0, np.int64)], None
    found = 0
    for chunk in chunks_of(
        runs, signals, is_visible,
        after=after, newest_first=newest_first, first=size + 1, until=until, most=most,
    ):  # fmt: skip
        keys.append(chunk.keys)
        ordinals.append(chunk.ordinals)
        found, end = found + len(chunk.keys), chunk.end
        if found > size:
            # the memory behind the page shows that there is a next one
            listed = np.concatenate(ordinals)[:size]
            return Page(listed, Cursor(int(np.concatenate(keys)[size - 1]), int(listed[-1])))
    is_over = not _is_left(runs, end or after, newest_first=newest_first)
    return Page(np.concatenate(ordinals), None if is_over else end)


def chunks_of(
    runs: Sequence[SortedRun],
    signals: Signals,
    is_visible: Mask,
    *,
    after: Cursor | None,
    newest_first: bool,
    first: int,
    until: float,
    most: int = MOST_SCANNED,
) -> Iterator[Chunk]:
    """The visible memories of `runs` in order, in chunks that grow from `first`, of `most` in all.

    Raises:
        OverdueError: as `page_of`.
    """
    spans = [_span(run, after, newest_first=newest_first) for run in runs]
    scanned, size = 0, max(first, FIRST_CHUNK)
    while scanned < most:
        raise_if_overdue(until)
        parts = _next_parts(runs, spans, min(size, most - scanned), newest_first=newest_first)
        if not parts:
            return
        keys = np.concatenate([runs[number].keys[begin:end] for number, begin, end in parts])
        ordinals = np.concatenate([runs[number].ordinals(begin, end) for number, begin, end in parts])
        live = np.concatenate([runs[number].live(begin, end, signals) for number, begin, end in parts])
        order = np.lexsort((ordinals, keys))
        order = order[::-1] if newest_first else order
        for number, begin, end in parts:
            spans[number] = (spans[number][0], begin) if newest_first else (end, spans[number][1])
        last = Cursor(int(keys[order[-1]]), int(ordinals[order[-1]]))
        scanned += len(order)
        taken = order[live[order]]
        taken = taken[is_visible(ordinals[taken])] if len(taken) else taken
        yield Chunk(keys[taken], ordinals[taken], last)
        size = min(LARGEST_CHUNK, 2 * size)


def _next_parts(
    runs: Sequence[SortedRun], spans: Sequence[tuple[int, int]], size: int, *, newest_first: bool
) -> list[tuple[int, int, int]]:
    """The next `size` rows of all runs, in the order of the list: number of the run, start and end.

    A memory that was written again is there twice; both rows are in one part or the other.
    """
    near = {
        number: (max(begin, end - size), end) if newest_first else (begin, min(end, begin + size))
        for number, (begin, end) in enumerate(spans)
        if begin < end
    }
    if sum(end - begin for begin, end in spans) <= size:
        return [(number, begin, end) for number, (begin, end) in near.items()]
    # the last row of the block by its key, and among rows with this key by its ordinal
    keys = np.concatenate([runs[number].keys[begin:end] for number, (begin, end) in near.items()])
    key = _nth(keys, size, greatest=newest_first)
    missing = size - int(np.count_nonzero(keys > key if newest_first else keys < key))
    equal = {number: _equal(runs[number], span, key) for number, span in near.items()}
    ordinals = np.concatenate([runs[number].ordinals(*span) for number, span in equal.items()])
    ordinal = _nth(ordinals, missing, greatest=newest_first)
    parts = []
    for number, (begin, end) in near.items():
        low, high = equal[number]
        side: Any = "left" if newest_first else "right"
        place = low + int(np.searchsorted(runs[number].ordinals(low, high), ordinal, side=side))
        part = (number, place, end) if newest_first else (number, begin, place)
        parts += [part] if part[1] < part[2] else []
    return parts


def _nth(values: NDArray[np.int64], count: int, *, greatest: bool) -> int:
    """The last of the `count` greatest or least values."""
    place = len(values) - count if greatest else count - 1
    return int(np.partition(values, place)[place])


def _equal(run: SortedRun, span: tuple[int, int], key: int) -> tuple[int, int]:
    """The rows of a part of a run that have this key."""
    begin, end = span
    low, high = np.searchsorted(run.keys[begin:end], [key, key + 1])
    return begin + int(low), begin + int(high)


def _span(run: SortedRun, after: Cursor | None, *, newest_first: bool) -> tuple[int, int]:
    """The part of a run that is still to be read."""
    if after is None:
        return 0, len(run.keys)
    place = run.place(after.key, after.ordinal, after=not newest_first)
    return (0, place) if newest_first else (place, len(run.keys))


def _is_left(runs: Sequence[SortedRun], after: Cursor | None, *, newest_first: bool) -> bool:
    spans = (_span(run, after, newest_first=newest_first) for run in runs)
    return any(begin < end for begin, end in spans)
