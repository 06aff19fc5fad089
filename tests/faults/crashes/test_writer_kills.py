"""500 kills of a writer that publishes, while readers load what is current 100,000 times."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import pytest

from helix_shared.artifacts.generation.folders import CURRENT, STAGING, current_number
from helix_shared.errors import CorruptArtifactError
from tests.faults.conftest import Report

from .generation_reader import load
from .killed_writer import PRELOADED, main

pytestmark = [pytest.mark.faults, pytest.mark.timeout(9_000)]

KILLS, LOADS, READERS = 500, 100_000, 3
PUBLICATIONS, LONGEST_SECONDS = 3, 0.1
"""Every second writer is killed at any time after up to so many publications."""
STEPS = 150
"""The others are killed before one of so many steps, which are those of the first publications."""
FORKED: Final = multiprocessing.get_context("forkserver")
"""Writers are forked from a process that has imported most of what they need: it halves their time."""


class WriterProcess:
    """One writer; it imports at once and begins when it is told."""

    def __init__(self, root: Path, how: str = "") -> None:
        FORKED.set_forkserver_preload([*PRELOADED])
        self.published = 0
        """The last generation that it announced."""
        told, self._tell = FORKED.Pipe(duplex=False)
        self._said, say = FORKED.Pipe(duplex=False)
        self.process = FORKED.Process(target=main, args=(root, how, told, say), daemon=True)
        self.process.start()
        told.close()
        say.close()  # so that what it says ends with it

    def begin(self) -> Self:
        """Let it open the stores, and wait until it has."""
        assert self._said.recv() == "waiting"
        self._tell.send("begin")
        assert self._said.recv() == "begun"
        return self

    def publish(self, count: int) -> None:
        """Wait until it has announced so many generations."""
        for _ in range(count):
            self.published = self._said.recv()

    def kill(self) -> None:
        """End it with SIGKILL, and read what it has announced."""
        self.process.kill()
        self.ended()

    def ended(self) -> None:
        """Wait until it has ended."""
        with suppress(EOFError, OSError):  # of a number of which it has sent a part only
            while True:
                self.published = self._said.recv()
        self.process.join()
        assert self.process.exitcode == -signal.SIGKILL
        self._said.close()
        self._tell.close()


def left_in_a_publication(root: Path) -> bool:
    """Whether the killed writer was within a publication: its work lies there."""
    staging = root / STAGING
    return (root / f"{CURRENT}.new").exists() or (staging.is_dir() and any(staging.iterdir()))


def test_500_kills_of_the_writer_leave_no_reader_with_a_mixed_generation(
    tmp_path: Path, request: pytest.FixtureRequest, report: Report
) -> None:
    """What was announced opens after each kill; what readers load is of one moment."""
    root, stop, dice = tmp_path / "data", tmp_path / "stop", random.Random(report.seed)
    kills, loads = report.scaled(KILLS, least=5), report.scaled(LOADS, least=300)
    command = [
        sys.executable,
        "-m",
        "tests.faults.crashes.generation_reader",
        root,
        stop,
        str(-(-loads // READERS)),
    ]
    readers = [
        subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
        for _ in range(READERS)
    ]
    request.addfinalizer(lambda: [reader.kill() for reader in readers])
    following = WriterProcess(root, str(dice.randrange(STEPS)))
    request.addfinalizer(following.process.kill)
    within = announced = 0
    verified: set[tuple[str, str]] = set()
    for number in range(kills):
        at_a_step = number % 2 == 0
        following_how = "" if at_a_step else str(dice.randrange(STEPS))
        writer, following = following.begin(), WriterProcess(root, following_how)
        request.addfinalizer(following.process.kill)
        if at_a_step:
            writer.ended()
        else:
            writer.publish(dice.randrange(PUBLICATIONS + 1))
            time.sleep(dice.uniform(0, LONGEST_SECONDS))
            writer.kill()
        within += left_in_a_publication(root)
        announced = max(announced, writer.published)
        current = current_number(root) or 0
        assert current >= announced
        if current:
            assert load(root, current, verified) == []
    following.begin().kill()
    stop.touch()
    seen = [json.loads(reader.communicate()[0]) for reader in readers]
    assert [reader.returncode for reader in readers] == [0] * READERS
    wrong = [one for reader in seen for one in reader["wrong"]]
    report.counts = {
        "kills": kills,
        "kills within a publication": within,
        "generations": current_number(root) or 0,
        "loads": sum(reader["loads"] for reader in seen),
        "loads of what was removed meanwhile": sum(reader["retried"] for reader in seen),
    }
    report.figure = f"{len(wrong)} mixed, corrupt, backwards or refused"
    assert wrong == []
    assert within
    broken = WriterProcess(root, "early").begin()
    threading.Timer(60, broken.process.kill).start()
    broken.ended()
    number = current_number(root) or 0
    assert number > announced
    try:
        found = load(root, number, verified)
    except (CorruptArtifactError, OSError) as error:
        found = [str(error)]
    report.control(bool(found), "CURRENT names a generation before it is there")
