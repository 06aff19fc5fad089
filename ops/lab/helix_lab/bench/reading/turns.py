"""Times calls in turns, so that what the machine does beside them meets all of them alike."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Final

from helix_lab.bench.reading.recall_load import percentiles
from helix_shared.errors import OverdueError

MILLISECONDS: Final = 1_000


def timed_in_turns(
    calls: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Percentiles of each call in milliseconds, and its first call; one past its deadline counts as long.

    Each call is made `warm_up` times and then `rounds` times, of which the percentiles are.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(warm_up + rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            with contextlib.suppress(OverdueError):
                call()
            taken[name].append((time.perf_counter() - began) * MILLISECONDS)
    found = {name: percentiles(times[warm_up:]) for name, times in taken.items()}
    return found, {name: round(times[0], 2) for name, times in taken.items()}
