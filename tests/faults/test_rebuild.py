"""100,000 events are made again from the log: the same memories, about as fast as they were ingested."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helix_cli.stack.stack import Stack
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory import events

from .conftest import Report
from .crashes.workload import event

pytestmark = [pytest.mark.faults, pytest.mark.timeout(14_400)]

EVENTS, FEW = 100_000, 60
LEAST_SHARE = 0.9
"""Of the speed of bulk ingest, in the same run."""
MEASURED_FROM = 5_000
"""Events from which the speed is a measurement; with fewer, starts and checkpoints are most of the time."""
PATIENCE_SECONDS = 7_200
WITHOUT_LINKS = """
import sys

if "rebuild" in getattr(sys, "orig_argv", []):
    from helix_cli.rebuilding.derive import Workers

    sound = Workers.messages

    def messages(self, logged, earlier):
        memories, expansions, links = sound(self, logged, earlier)
        return memories, expansions, self.derivations[1].without_rows(links.origin)

    Workers.messages = messages
"""


def command(home: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Exit code and standard output of `helix`, in a process of its own."""
    called = [sys.executable, "-m", "helix_cli", *arguments, "--home", str(home)]
    given = os.environ | (environment or {})
    done = subprocess.run(called, env=given, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def ingested(stack: Stack, count: int) -> float:
    """Publish events in bulk, and wait until all are recallable with all that is derived; the seconds."""
    file = stack.home.root / "events.jsonl"
    file.write_bytes(b"".join(events.encode_event(event(number)) + b"\n" for number in range(count)))
    began = time.monotonic()
    code, out = command(stack.home.root, "publish", str(file))
    assert code == 0, out
    asyncio.run(wait_recallable(stack.nats_url, stack.query_address, wait_seconds=PATIENCE_SECONDS))
    return time.monotonic() - began


def different(made: dict[str, Any]) -> dict[str, int]:
    """Memories that differ, by kind of content."""
    return {one["name"]: one["different"] for one in made["parity"]["sections"] if one["different"]}


def test_a_rebuild_says_the_same_and_is_about_as_fast_as_bulk_ingest(
    tmp_path: Path, models_dir: Path, report: Report
) -> None:
    """Ids, texts, versions, vectors, links and relations are equal, beside the stack that made them."""
    count = report.scaled(EVENTS, least=FEW)
    with Stack(tmp_path / "home", nats_port=0, query_port=0, models=models_dir) as stack:
        stack.wait_ready()
        seconds = ingested(stack, count)
        code, out = command(stack.home.root, "rebuild", "--json")
    made = json.loads(out)["shards"][0]
    parity, again = made["parity"], made["seconds"]
    compared = min(one["compared"] for one in parity["sections"])
    speeds = {"ingested a second": count / seconds, "rebuilt a second": made["events"] / again}
    report.counts = {"events": count, "compared": compared, "ingest seconds": round(seconds)}
    report.counts |= {"replay seconds": round(again)}
    report.figure = f"{different(made) or 'nothing'} different, " + ", ".join(
        f"{name} {speed:.1f}" for name, speed in speeds.items()
    )
    assert (code, different(made), compared) == (0, {}, count)
    assert parity["total"]
    with Stack(tmp_path / "control", nats_port=0, query_port=0, models=models_dir) as stack:
        stack.wait_ready()
        ingested(stack, FEW)
        (tmp_path / "sitecustomize.py").write_text(WITHOUT_LINKS)
        code, out = command(stack.home.root, "rebuild", "--json", environment={"PYTHONPATH": str(tmp_path)})
    report.control(
        code == 1 and "links" in different(json.loads(out)["shards"][0]), "a rebuild without kg differs"
    )
    if count >= MEASURED_FROM:
        assert speeds["rebuilt a second"] >= LEAST_SHARE * speeds["ingested a second"]
