"""An hour of 25 events and 5 recalls a second: memory, file handles and disk grow with what is stored."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from helix_cli.stack.stack import Stack
from helix_memory.errors import TemporaryError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from tests.faults.conftest import Report
from tests.faults.crashes.comparing import until_recallable
from tests.faults.crashes.workload import Ledger, event

from .usage import MIB, Growth, Sample, growth_of, take

pytestmark = [pytest.mark.faults, pytest.mark.timeout(10_800)]

SECONDS: Final = 3_600
LEAST_SECONDS: Final = 60
EVENTS_A_SECOND, RECALLS_A_SECOND = 25, 5
SAMPLE_SECONDS: Final = 1.0
BYTES_AN_EVENT: Final = 4_096
"""Of memory, for what a process knows of each memory; NATS knows the ids of an hour."""
DISK_AN_EVENT: Final = 65_536
"""Log, archive, stores, and the versions of them that maintenance has not removed yet."""
NOISE: Final = {"memory": 64 * MIB, "disk": 128 * MIB, "handles": 64}
"""Allocators, generations that are being swapped, and segments that are being merged."""
SETTINGS: Final = {
    "HELIX_CONSOLIDATION_KEEP_SECONDS": "5",
    "HELIX_CONSOLIDATION_ACCESS_INTERVAL_SECONDS": "5",
}
LEAK = """
import sys

if "helix_query" in getattr(sys, "orig_argv", []):
    import os
    from helix_query.api import service

    sound, kept = service.RecallHandlers.recall, []

    async def leaking(self, request, context):
        kept.append((os.urandom(4 << 20), [open(os.devnull) for _ in range(8)]))
        return await sound(self, request, context)

    service.RecallHandlers.recall = leaking
"""


class Load:
    """Publishes and recalls at a constant rate until `stop`."""

    def __init__(self, stack: Stack) -> None:
        self.ledger, self.recalls, self.late = Ledger(), 0, 0
        self._stack, self._stop = stack, threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(work,)) for work in (self._publish, self._recall)
        ]

    def start(self) -> None:
        """Start both."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End both; raises what one of them raised."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _run(self, work: object) -> None:
        try:
            assert callable(work)
            work()
        except BaseException as failure:  # noqa: BLE001  raised again in `stop`
            self._failures.append(failure)

    def _paced(self, a_second: int) -> Iterator[int]:
        began = time.monotonic()
        for number in itertools.count():
            if self._stop.wait(max(0.0, began + number / a_second - time.monotonic())):
                return
            yield number

    def _publish(self) -> None:
        asyncio.run(self.ledger.publish(self._stack.nats_url, self._paced(EVENTS_A_SECOND)))

    def _recall(self) -> None:
        with RecallClient(self._stack.query_address, call_seconds=30.0, attempts=5) as client:
            for number in self._paced(RECALLS_A_SECOND):
                asked = event(number * EVENTS_A_SECOND // RECALLS_A_SECOND)
                scope = recall_pb2.Scope(tenant_id=asked.tenant_id)
                try:
                    client.recall(recall_pb2.RecallRequest(scope=scope, query=asked.text))
                    self.recalls += 1
                except TemporaryError:  # before the first generation, or the machine is busy
                    self.late += 1


def soak(
    home: Path, models: Path, seconds: float, environment: Mapping[str, str]
) -> tuple[dict[str, Growth], Load]:
    """Growth by process under a constant load; everything is recallable at the end, and nothing has ended."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    own = SETTINGS | dict(environment)
    with Stack(home, nats_port=0, query_port=0, models=models, environment=own) as stack:
        stack.wait_ready()
        pids = [child.pid for child in stack.processes]
        load = Load(stack)
        load.start()
        until = time.monotonic() + seconds
        try:
            while (now := time.monotonic()) < until:
                for name, sample in take(stack, len(load.ledger.acknowledged)).items():
                    samples[name].append(sample)
                time.sleep(max(SAMPLE_SECONDS, seconds / 600) - min(SAMPLE_SECONDS, time.monotonic() - now))
        finally:
            load.stop()
        until_recallable(stack)
        assert [child.pid for child in stack.processes] == pids, "a process was started again"
    return {name: growth_of(found) for name, found in samples.items()}, load


def too_much(name: str, growth: Growth) -> str:
    """What grows faster than what is stored; empty: nothing."""
    kind, an_event = ("disk", DISK_AN_EVENT) if name == "disk" else ("memory", BYTES_AN_EVENT)
    if growth.bytes > NOISE[kind] + an_event * growth.events:
        return f"{kind} of {name}: {growth.bytes / MIB:.0f} MiB more after {growth.events} events"
    if growth.handles > NOISE["handles"]:
        return f"handles of {name}: {growth.handles} more"
    return ""


def test_an_hour_of_load_leaves_memory_handles_and_disk_flat(
    tmp_path: Path, models_dir: Path, report: Report
) -> None:
    """After the warm-up nothing grows but what is stored for each event."""
    seconds = report.scaled(SECONDS, least=LEAST_SECONDS)
    found, load = soak(tmp_path / "soak", models_dir, seconds, {})
    report.counts = {"seconds": seconds, "events": len(load.ledger.acknowledged), "recalls": load.recalls}
    report.counts["recalls without an answer"] = load.late
    report.counts |= {f"{name} bytes an event": growth.bytes_an_event for name, growth in found.items()}
    report.counts |= {f"{name} handles": growth.handles for name, growth in found.items() if growth.handles}
    wrong = [said for name, growth in found.items() if (said := too_much(name, growth))]
    report.figure = "; ".join(wrong) or "memory, handles and disk grow with what is stored alone"
    assert wrong == []
    assert load.recalls > 0
    (tmp_path / "sitecustomize.py").write_text(LEAK)
    leaking, _ = soak(tmp_path / "control", models_dir, LEAST_SECONDS, {"PYTHONPATH": str(tmp_path)})
    report.control(bool(too_much("query-1", leaking["query-1"])), "a leak of every recall is noticed")
