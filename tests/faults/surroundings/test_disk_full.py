"""A disk without room under each part in turn: typed errors, the last generation serves, nothing is lost."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from helix_cli.rebuilding.parity import columns
from helix_cli.stack import supervisor
from helix_cli.stack.stack import Stack
from helix_memory.transport.polling import poll
from tests.faults.conftest import Report
from tests.faults.crashes.comparing import (
    AT_ANOTHER_TIME,
    Left,
    left_of,
    not_recallable,
    stack_of,
    start,
    undisturbed_run,
    until_recallable,
)
from tests.faults.crashes.disk import folder_in_memory, mounted, new_image
from tests.faults.crashes.workload import Ledger

from .full_disk import full

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]

ROUNDS, EVENTS = 20, 6
SIZES: Final = {
    "stores": 1 << 30,
    "nats": 4 << 30,
    "archive": 1 << 30,
    "links": 1 << 30,
    "temporary": 1 << 30,
}
"""Disks; `links` and `temporary` are the temporary files of query and of the others; NATS reserves 1.4 GB."""
PLACES: Final = ("nats", "archive", "links", "temporary", "stores", "everything")
MOST_ROOM: Final = 1 << 20
COPIES: Final = {"forwarder": 0}
SECONDS: Final = 600.0
OWN_FOLDER = """
import os, sys

if "helix_query" in getattr(sys, "orig_argv", []):
    os.environ["TMPDIR"] = os.environ["LINKS"]
"""
ACK_FIRST = """
import asyncio

if "helix_consolidation" in getattr(sys, "orig_argv", []):
    from helix_consolidation.delivery.inbox import Inbox

    sound = Inbox.take

    async def acknowledge(message):
        await message.ack()
        message._ackd = False

    def take(self, most):
        taken = sound(self, most)
        for message in taken:
            asyncio.get_running_loop().create_task(acknowledge(message))
        return taken

    Inbox.take = take
"""


@dataclass
class Machine:
    """A stack whose parts have a disk each, and what was published."""

    stack: Stack
    disks: Mapping[str, Path]
    said: list[str]
    ledger: Ledger = field(default_factory=Ledger)
    published: int = 0
    answers: int = 0

    def publish(self) -> threading.Thread:
        """Publish the next events, each until it is acknowledged."""
        numbers = range(self.published, self.published + EVENTS)
        self.published = numbers.stop
        publishing = self.ledger.publish(self.stack.nats_url, numbers)
        thread = threading.Thread(target=asyncio.run, args=(publishing,))
        thread.start()
        return thread

    def log(self, name: str) -> str:
        """What a process has written."""
        return (self.stack.home.logs / f"{name}.log").read_text()

    def seen(self, place: str) -> Callable[[], bool]:
        """Whether a part met the full disk, from now on."""
        signs: dict[str, Callable[[], int]] = {
            "nats": lambda: self.ledger.repeats,
            "archive": lambda: self.log("consolidation-1").count("No space left"),
            "links": lambda: self.log("query-1").count("generation_refused"),
            "stores": lambda: sum(line.startswith("consolidation-1 ended") for line in self.said),
        }
        sign = signs[{"everything": "nats", "temporary": "stores"}.get(place, place)]
        before = sign()
        return lambda: sign() > before

    def serve(self) -> None:
        """Every event of before is there, whatever is full."""
        earlier = {number: 0 for number in self.ledger.acknowledged if number < EVENTS}
        assert not_recallable(self.stack.query_address, earlier) == 0
        self.answers += len(earlier)

    def round(self, place: str, room: int) -> None:
        """Publish until a part met its full disk, serve meanwhile, and go on with room again."""
        seen, threads = self.seen(place), list[threading.Thread]()
        names = SIZES if place == "everything" else (place,)
        with ExitStack() as filled:
            for name in names:
                filled.enter_context(full(self.disks[name], room=room))
            for _ in poll(SECONDS):
                if not any(thread.is_alive() for thread in threads):
                    threads.append(self.publish())
                self.serve()
                if seen():
                    break
            else:
                raise AssertionError(f"{place}: nothing met the full disk")
            self.serve()
        for thread in threads:
            thread.join(SECONDS)
            assert not thread.is_alive(), f"{place}: publishing does not go on with room again"


@contextmanager
def machine(folder: Path, models: Path, *, added: str = "") -> Iterator[Machine]:
    """A started stack on disks of its own; skips the test where no file system can be mounted."""
    home, said = folder / "home", list[str]()
    at = {"stores": home, "nats": home / "data/nats", "archive": home / "data/archive"}
    at |= {"links": folder / "links", "temporary": folder / "temporary"}
    with ExitStack() as opened:
        for name, size in SIZES.items():
            opened.enter_context(mounted(new_image(folder, name=name, size=size), at[name]))
            (at[name] / "lost+found").rmdir()
        (folder / "sitecustomize.py").write_text(OWN_FOLDER + added)
        own = {"PYTHONPATH": str(folder), "TMPDIR": str(at["temporary"]), "LINKS": str(at["links"])}
        stack = opened.enter_context(stack_of(home, models, copies=COPIES, environment=own, say=said.append))
        start(stack)
        ready = Machine(stack, at, said)
        ready.publish().join()
        until_recallable(stack)
        yield ready


def refuses_after_an_early_ack(folder: Path, models: Path) -> bool:
    """Whether a writer that acknowledges before it has published misses what a full disk refused."""
    with machine(folder, models, added=ACK_FIRST) as made:
        made.round("stores", 0)
        for _ in poll(SECONDS):
            if "were acknowledged, this data folder holds" in made.log("consolidation-1"):
                return True
    return False


def test_a_full_disk_loses_nothing_and_the_last_generation_serves(
    tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, report: Report
) -> None:
    """Whatever part meets it; with room again everything is recallable, as in an undisturbed run."""
    monkeypatch.setattr(supervisor, "restart_delay", lambda _: supervisor.FIRST_DELAY_SECONDS)
    monkeypatch.setattr(columns, "OF_ITS_OWN", AT_ANOTHER_TIME)
    dice = random.Random(report.seed)
    rounds = [(place, 0) for place in PLACES]
    rounds += [("stores", dice.randrange(MOST_ROOM)) for _ in range(report.scaled(ROUNDS))]
    with folder_in_memory(tmp_path) as folder, machine(folder, models_dir) as made:
        for place, room in rounds:
            made.round(place, room)
            until_recallable(made.stack)
        events = made.published
        undisturbed = undisturbed_run(tmp_path / "undisturbed", models_dir, events)
        left = left_of(made.stack, made.ledger, undisturbed, events)
        report.counts = {"events": events, "full": len(rounds), "answers while full": made.answers}
        report.counts["typed errors"] = made.ledger.repeats
        report.figure = left.figure
        assert left == Left()
    with folder_in_memory(tmp_path) as folder:
        refused = refuses_after_an_early_ack(folder, models_dir)
    report.control(refused, "an ack before the generation is on the disk loses what the disk did not take")
