"""Clocks of publisher, workers and query service a day ahead and a day behind that of NATS."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from helix_cli.stack.stack import Stack
from helix_memory.client import Helix
from helix_memory.errors import NotFoundError
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import published_numbers
from tests.faults.conftest import Report
from tests.faults.crashes.comparing import Left, left_of, opened, stack_of, start, until_recallable
from tests.faults.crashes.workload import Ledger, chunks

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]

EVENTS: Final = 2_000
SKEWS: Final = ("+86400", "-86400", "+0")
"""Of all services in turn; the clock jumps while they run."""
COPIES: Final = {"forwarder": 0}
SECONDS: Final = 300.0
WITHIN: Final = 60.0
"""Patience of the control: the writer sweeps every second."""
RETENTION: Final = {
    "HELIX_CONSOLIDATION_SWEEP_SECONDS": "1",
    "HELIX_CONSOLIDATION_KEEP_SECONDS": "2",
    "HELIX_CONSOLIDATION_KEEP_GENERATIONS": "2",
}
MOST_GENERATIONS: Final = 6
LIBRARIES: Final = Path("/usr/lib")
EXPIRES: Final = timedelta(hours=12)
PUBLISHER = """
import sys
from helix_memory.client import Helix

with Helix(tenant="skewed", nats_port=int(sys.argv[1])) as helix:
    print(helix.remember(sys.argv[2], session="clocks").memory_id)
"""
KEEPS_HIDDEN = """
import sys

if "helix_consolidation" in getattr(sys, "orig_argv", []):
    import numpy as np
    from helix_consolidation.ledger.ledger import Ledger

    sound = Ledger.expiry_changed

    def expiry_changed(self, now):
        return [one for one in sound(self, now) if not self._facts["is_hidden"][one]]

    Ledger.expiry_changed = expiry_changed
"""


def library() -> str:
    """libfaketime; skips the test where it is not installed."""
    found = sorted(LIBRARIES.glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("libfaketime is not installed (Debian: apt-get install libfaketime)")
    return str(found[0])


class Clock:
    """The clock of processes with this environment; `set` lets it jump while they run."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set("+0")
        self.environment = {
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_CACHE_DURATION": "1",
            "NO_FAKE_STAT": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }

    def set(self, skew: str) -> None:
        """Seconds ahead (+) or behind (-)."""
        draft = self._file.with_suffix(".new")
        draft.write_text(f"{skew}\n")
        draft.replace(self._file)


def published(stack: Stack, clock: Clock, text: str) -> str:
    """Id of a memory that a program with this clock has published."""
    port = stack.nats_url.rpartition(":")[2]
    command = [sys.executable, "-c", PUBLISHER, port, text]
    done = subprocess.run(
        command,
        env=os.environ | clock.environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return done.stdout.strip()


def client(stack: Stack) -> Helix:
    """A client with the true clock."""
    nats, query = (int(address.rpartition(":")[2]) for address in (stack.nats_url, stack.query_address))
    return Helix(tenant="skewed", nats_port=nats, query_port=query)


def is_there(helix: Helix, memory: str) -> bool:
    """Whether a memory can be recalled."""
    try:
        helix.get(memory)
    except NotFoundError:
        return False
    return True


def until(is_so: Callable[[], bool], what: str, *, within: float = SECONDS) -> None:
    """Wait until something is so."""
    if not any(is_so() for _ in poll(within)):
        raise AssertionError(what)


def expiry_holds(stack: Stack, clock: Clock, *, within: float = SECONDS) -> bool:
    """Whether a memory that the writer hid a day too early is shown again once its clock is right."""
    with client(stack) as helix:
        expires = datetime.now(UTC) + EXPIRES
        note = helix.remember("The badge of the visitor is number 17.", expires_at=expires, wait=True)
        before = hidden(stack)
        clock.set(SKEWS[0])
        until(lambda: hidden(stack) > before, "the writer does not know that it is tomorrow")
        clock.set("+0")
        return any(is_there(helix, note.memory_id) for _ in poll(within))


def kept(stack: Stack) -> int:
    """Generations on the disk."""
    return len(published_numbers(stack.home.data))


def hidden(stack: Stack) -> int:
    """Hidden memories of the current generation, once the query service serves it."""
    for _ in poll(SECONDS):
        generation = opened(stack.home.root)
        generation.close()
        with RecallClient(stack.query_address) as reader:
            if reader.status().generation >= generation.manifest.generation:
                return generation.manifest.counts.hidden
    raise AssertionError("the current generation is not served")


def recallable_from_skewed_publishers(stack: Stack, folder: Path) -> int:
    """Memories of publishers a day ahead and a day behind that can be recalled at once."""
    clock, found = Clock(folder / "publisher"), 0
    with client(stack) as helix:
        for skew in SKEWS[:2]:
            clock.set(skew)
            text = f"The publisher with the clock {skew} waters the orchids."
            memory = published(stack, clock, text)
            until(lambda one=memory: is_there(helix, one), f"not recallable: {skew}")
            found += any(one.id == memory for one in helix.recall("who waters the orchids?").memories)
            newer = helix.correct(memory, "Nobody waters the orchids.", wait=True)
            found += not is_there(helix, memory) or is_there(helix, newer.memory_id)
    return found


def test_a_day_of_clock_skew_changes_nothing(
    tmp_path: Path, models_dir: Path, undisturbed: Callable[[int], Path], report: Report
) -> None:
    """Ids, order, lease, retention and expiry hold when the clocks of all services jump by a day and back."""
    events, ledger, clock = report.scaled(EVENTS, least=120), Ledger(), Clock(tmp_path / "services")
    own = clock.environment | RETENTION
    with stack_of(tmp_path / "skewed", models_dir, copies=COPIES, environment=own) as stack:
        start(stack)
        for numbers, skew in zip(chunks(events, len(SKEWS)), SKEWS, strict=True):
            half = numbers[: len(numbers) // 2]
            asyncio.run(ledger.publish(stack.nats_url, half))
            clock.set(skew)
            asyncio.run(ledger.publish(stack.nats_url, numbers[len(half) :]))
            until_recallable(stack)
            until(lambda: kept(stack) <= MOST_GENERATIONS, f"no generation is retired at {skew}")
        left = left_of(stack, ledger, undisturbed(events), events)
        from_skewed = recallable_from_skewed_publishers(stack, tmp_path)
        is_shown = expiry_holds(stack, clock)
    report.counts = {"events": events, "jumps": 2 * len(SKEWS), "from skewed publishers": from_skewed}
    report.figure = left.figure
    assert left == Left()
    assert (from_skewed, is_shown) == (4, True)
    (tmp_path / "sitecustomize.py").write_text(KEEPS_HIDDEN)
    own |= {"PYTHONPATH": str(tmp_path)}
    with stack_of(tmp_path / "control", models_dir, copies=COPIES, environment=own) as stack:
        start(stack)
        shown = expiry_holds(stack, clock, within=WITHIN)
    report.control(not shown, "a memory that a fast clock hid stays hidden")
