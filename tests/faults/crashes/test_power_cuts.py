"""Twenty power cuts of a machine with everything: copies of its disk, taken while it works."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from helix_cli.stack.stack import Stack
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory.transport.polling import poll
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.broker import server
from helix_shared.errors import CorruptArtifactError
from tests.faults.conftest import Report

from .comparing import READY_SECONDS
from .disk import copy_of, folder_in_memory, mounted, new_image, stopped
from .workload import Ledger, chunks, id_of, lost_and_twice, stored

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]

CUTS, EVENTS_OF_A_CUT = 20, 150
ANYWHERE = 0.5
"""Share of cuts that come while events are published; the others come when a generation was announced."""
PATIENCE_SECONDS = 900
COPIES = {"forwarder": 0}
WITHOUT_SYNC = """
import os, sys

if "helix_consolidation" in getattr(sys, "orig_argv", []):
    os.fsync = lambda handle: None
"""


@dataclass
class Cut:
    """A disk as a power cut left it, and what had been said before."""

    image: Path
    acknowledged: dict[int, int]
    announced: int


def announced(home: Path) -> int:
    """The last generation that the writer has announced in its log."""
    log = home / "logs" / "consolidation-1.log"
    lines = [line for line in log.read_text().splitlines() if '"event": "published"' in line]
    found = [int(number) for line in lines for number in re.findall(r'"generation": (\d+)', line)]
    return max(found, default=0)


def cuts_of(
    folder: Path, models: Path, *, cuts: int, dice: random.Random, environment: dict[str, str]
) -> list[Cut]:
    """Copies of the disk of a stack that works, each at another moment."""
    image, made = new_image(folder), []
    with mounted(image, folder / "mounted") as at:
        home, ledger = at / "home", Ledger()
        with Stack(
            home, nats_port=0, query_port=0, models=models, copies=COPIES, environment=environment
        ) as stack:
            stack.wait_ready(timeout_seconds=READY_SECONDS)
            for numbers in chunks(cuts * EVENTS_OF_A_CUT, cuts):
                threshold, before = dice.randrange(numbers.start, numbers.stop), announced(home)
                if made and dice.random() < ANYWHERE:
                    before = -1
                thread = threading.Thread(target=asyncio.run, args=(ledger.publish(stack.nats_url, numbers),))
                thread.start()
                for _ in poll(PATIENCE_SECONDS, every_seconds=0.002):
                    if len(ledger.acknowledged) > threshold and announced(home) > before:
                        break
                with stopped([child.pid for child in stack.processes], at):
                    cut = Cut(folder / f"cut-{len(made)}.img", dict(ledger.acknowledged), announced(home))
                    copy_of(image, cut.image)
                made.append(cut)
                thread.join()
    return made


def newest_opens(data: Path, cut: Cut) -> str:
    """Why a generation that was announced is not there whole; empty: it is."""
    try:
        number = current_number(data) or 0
        if number < cut.announced:
            return f"{cut.announced} was announced, {number} is current"
        manifest = verify(folder_of(data, number), verified=set())
        Generation.open(data, number, manifest=manifest).close()
    except (CorruptArtifactError, OSError, ValueError, RuntimeError) as error:
        return str(error)
    return ""


def lost_in_the_log(home: Path, cut: Cut) -> int:
    """Acknowledged events that the stream has no more."""
    with server.NatsServer(home / "data" / "nats") as nats:
        try:
            ids = asyncio.run(stored(nats.url))
        except Exception:  # noqa: BLE001  the whole stream may be gone
            ids = []
    return len(set(map(id_of, cut.acknowledged)) - set(ids))


def recallable(home: Path, models: Path, cut: Cut) -> tuple[int, int]:
    """Acknowledged events without a memory, and memories that are there twice, once all is applied."""
    (home / "run" / "up.json").unlink(missing_ok=True)  # after a power cut no process of it lives
    with Stack(home, nats_port=0, query_port=0, models=models, copies=COPIES) as stack:
        stack.wait_ready(timeout_seconds=READY_SECONDS)
        asyncio.run(wait_recallable(stack.nats_url, stack.query_address, wait_seconds=PATIENCE_SECONDS))
    number = current_number(home / "data")
    assert number is not None
    generation = Generation.open(home / "data", number)
    try:
        return lost_and_twice(generation, cut.acknowledged)
    finally:
        generation.close()


def test_twenty_power_cuts_lose_nothing_that_was_acknowledged_or_announced(
    tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, report: Report
) -> None:
    """After each cut the log has every acknowledged event, and the announced generation opens."""
    cuts, dice = report.scaled(CUTS, least=2), random.Random(report.seed)
    lost = twice = 0
    with ExitStack() as opened:
        folder = opened.enter_context(folder_in_memory(tmp_path))
        made = cuts_of(folder, models_dir, cuts=cuts, dice=dice, environment={})
        report.counts = {"cuts": 0, "acknowledged": 0, "announced generations": made[-1].announced}
        for cut in made:
            with mounted(cut.image, folder / "after"):
                home = folder / "after" / "home"
                reason = newest_opens(home / "data", cut)
                found = recallable(home, models_dir, cut)
                gone = lost_in_the_log(home, cut)
            lost, twice = lost + max(gone, found[0]), twice + found[1]
            report.counts["cuts"] += 1
            report.counts["acknowledged"] += len(cut.acknowledged)
            report.figure = f"{lost} lost, {twice} twice, the announced generation is {reason or 'whole'}"
            assert not reason
            assert (lost, twice) == (0, 0)
            cut.image.unlink()
        control = folder / "control"
        control.mkdir()
        without = tmp_path / "without"
        without.mkdir()
        (without / "sitecustomize.py").write_text(WITHOUT_SYNC)
        whole = server.server_config
        monkeypatch.setattr(
            server, "server_config", lambda **fields: whole(**fields).replace("sync_interval: always", "")
        )
        [cut] = cuts_of(control, models_dir, cuts=1, dice=dice, environment={"PYTHONPATH": str(without)})
        with mounted(cut.image, control / "after"):
            home = control / "after" / "home"
            reason, gone = newest_opens(home / "data", cut), lost_in_the_log(home, cut)
        report.counts["lost by NATS without syncs"] = gone
        report.control(bool(reason) and gone > 0, "without syncs a generation and events are lost")
