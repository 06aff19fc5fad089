"""Three NATS servers, four writers and two replicas of a bucket, of which one is killed again and again."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from helix_cli.clients.broker import connected
from helix_cli.stack import supervisor
from helix_cli.stack.services import CONSOLIDATION, QUERY
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory import subjects
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import RecallClient
from helix_shared.broker.server import NatsServer
from helix_shared.broker.streams import LEASE_STREAM
from helix_shared.errors import HelixError
from tests.faults.conftest import Report
from tests.s3_server import s3_server

from .comparing import PATIENCE_SECONDS
from .fleet import REPLICAS, SHARDS, Fleet
from .fleet_contents import Difference, acknowledged_of, answered_difference, stored_difference
from .nats_cluster import cluster, refusing, until_leader
from .workload import Ledger, chunks, event

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]

EVENTS, TENANTS, PUBLISHERS = 50_000, 200, 4
LEADER = "leader"
KILLS = {LEADER: 10, CONSOLIDATION: 10, QUERY: 10}
LED = (subjects.EVENTS_STREAM, subjects.DERIVED_STREAM, LEASE_STREAM)
CONTROL_EVENTS = 60
REASON = 60
"""Characters of the reason why a recall failed, for the report."""
OWNS_ALL = """
import sys

if "helix_consolidation" in getattr(sys, "orig_argv", []):
    from helix_shared.shard_map import ShardPlace

    ShardPlace.owns = lambda self, tenant_id: True
    ShardPlace.owns_subject = lambda self, subject: True
"""
"""Every writer takes every tenant for its own."""


@dataclass
class Recalls:
    """Recalls of one event after the other, by a client that knows both replicas."""

    ledger: Ledger
    dice: random.Random
    seconds: list[float] = field(default_factory=list)
    foreign: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def run(self, address: str) -> None:
        """Ask until `over`."""
        with RecallClient(address, attempts=3) as client:
            while not self.over.wait(0.25):
                if self.ledger.acknowledged:
                    self._ask(client, self.dice.choice(list(self.ledger.acknowledged)))

    def _ask(self, client: RecallClient, number: int) -> None:
        one, began = event(number, self.ledger.tenants), time.monotonic()
        scope = recall_pb2.Scope(tenant_id=one.tenant_id)
        try:
            reply = client.recall(recall_pb2.RecallRequest(scope=scope, query=one.text))
        except HelixError as error:
            self.errors[str(error)[:REASON]] += 1
            return
        self.seconds.append(time.monotonic() - began)
        self.foreign += sum(found.memory.tenant_id != one.tenant_id for found in reply.memories)


def publish_meanwhile(url: str, ledger: Ledger, numbers: range) -> list[threading.Thread]:
    """Publishers of a part of the events each."""
    parts = [numbers[start::PUBLISHERS] for start in range(PUBLISHERS)]
    threads = [threading.Thread(target=asyncio.run, args=(ledger.publish(url, part),)) for part in parts]
    for thread in threads:
        thread.start()
    return threads


def kill_child(fleet: Fleet, role: str, dice: random.Random) -> None:
    """SIGKILL a writer or a replica that runs, of replicas only where both answer."""
    children = [child for child in fleet.processes if child.name.partition("-")[0] == role]
    for _ in poll(PATIENCE_SECONDS, every_seconds=0.5):
        alive = [child for child in children if child.ended() is None]
        if role == QUERY and (len(alive) < REPLICAS or not all(map(answers, fleet.replicas))):
            continue
        if alive:
            fleet.kill(role, children.index(dice.choice(alive)))
            return
    raise AssertionError(f"{role} was not started again")


def answers(address: str) -> bool:
    """Whether a replica has all shards."""
    try:
        with RecallClient(address) as client:
            return len(client.status().shards) == SHARDS
    except HelixError:
        return False


def run_with_kills(
    fleet: Fleet,
    servers: Sequence[NatsServer],
    ledger: Ledger,
    events: int,
    kills: Sequence[str],
    dice: random.Random,
) -> None:
    """Publish while processes are killed, one in each part of the events.

    The next part begins when the part before the last one is applied, so that there is work at each kill.
    """
    applied_to = 0
    for numbers, role in zip(chunks(events, len(kills)), kills, strict=True):
        threads = publish_meanwhile(fleet.nats_url, ledger, numbers)
        wanted = dice.randrange(numbers.start, max(numbers.stop, numbers.start + 1))
        while len(ledger.acknowledged) < wanted and any(thread.is_alive() for thread in threads):
            time.sleep(0.002)
        if role == LEADER:
            victim = until_leader(servers, stream=dice.choice(LED))
            victim.kill()
            until_leader(servers, whole=False)
            victim.start()
        else:
            kill_child(fleet, role, dice)
        for thread in threads:
            thread.join()
        for _ in poll(PATIENCE_SECONDS, every_seconds=0.5):
            if fleet.applied >= applied_to:
                break
        applied_to = max(ledger.acknowledged.values())


def until_recallable(fleet: Fleet) -> None:
    """Wait until both replicas have all that was published, enrichment included."""
    for address in fleet.replicas:
        asyncio.run(wait_recallable(fleet.nats_url, address, wait_seconds=PATIENCE_SECONDS))


async def dead_letters(url: str) -> int:
    """Messages that were refused."""
    async with connected(url) as jetstream:
        return (await jetstream.stream_info(subjects.DLQ_STREAM)).state.messages


def in_stores(fleet: Fleet, ledger: Ledger) -> Difference:
    """What is wrong in the stores of the writers and of the replicas."""
    wanted, total = acknowledged_of(ledger), Difference()
    for data in (fleet.home.data, *map(fleet.replica, range(REPLICAS))):
        total += stored_difference(data, SHARDS, wanted)
    return total


def foreign_without_places(folder: Path, models: Path) -> Difference:
    """What is wrong in the stores if every writer takes every tenant for its own."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(OWNS_ALL)
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    ledger = Ledger(tenants=tenants(CONTROL_EVENTS // 3))
    with (
        cluster(folder / "nats", replicas=1, shards=SHARDS) as servers,
        s3_server(folder) as objects,
        Fleet(folder / "home", models, servers, objects, environment={"PYTHONPATH": path}) as fleet,
    ):
        asyncio.run(ledger.publish(fleet.nats_url, range(CONTROL_EVENTS)))
        until_recallable(fleet)
        return in_stores(fleet, ledger)


def tenants(count: int) -> list[str]:
    """Names."""
    return [f"tenant-{number}" for number in range(count)]


def test_30_kills_of_a_fleet_lose_and_double_nothing(
    tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, report: Report
) -> None:
    """Every acknowledged event is one memory of its tenant, in both replicas and in one shard."""
    monkeypatch.setattr(supervisor, "restart_delay", lambda _: supervisor.FIRST_DELAY_SECONDS)
    events, dice = report.scaled(EVENTS, least=300), random.Random(report.seed)
    # all of them from a twentieth of the size on
    kills = [role for role, count in KILLS.items() for _ in range(min(count, report.scaled(20 * count)))]
    dice.shuffle(kills)
    ledger = Ledger(tenants=tenants(TENANTS))
    recalls = Recalls(ledger, random.Random(report.seed))
    with (
        cluster(tmp_path / "nats", replicas=3, shards=SHARDS) as servers,
        s3_server(tmp_path) as objects,
        Fleet(tmp_path / "fleet", models_dir, servers, objects) as fleet,
    ):
        asking = threading.Thread(target=recalls.run, args=(fleet.query_address,))
        asking.start()
        began = time.monotonic()
        try:
            run_with_kills(fleet, servers, ledger, events, kills, dice)
            published = time.monotonic() - began
            until_recallable(fleet)
        finally:
            recalls.over.set()
            asking.join()
        seconds, wanted = time.monotonic() - began, acknowledged_of(ledger)
        answered = sum((answered_difference(one, wanted) for one in fleet.replicas), Difference())
        stored = in_stores(fleet, ledger)
        letters = asyncio.run(dead_letters(fleet.nats_url))
        frozen = refusing(servers)
    report.counts = {
        "events": events,
        "acknowledged": len(ledger.acknowledged),
        "tenants": len(ledger.tenants),
    }
    report.counts |= {f"{role} kills": count for role, count in Counter(kills).items()}
    report.counts |= {
        "sent again": ledger.repeats,
        "seconds": int(seconds),
        "of them publishing": int(published),
    }
    report.counts |= {"recalls meanwhile": len(recalls.seconds), "of another tenant": recalls.foreign}
    report.counts |= {f"recalls with: {reason}": count for reason, count in recalls.errors.items()}
    report.figure = (
        f"replicas: {answered.figure}; stores: {stored.figure}; {letters} dead letters; "
        f"{frozen} servers that could not write; "
        f"{events / seconds:.1f} events a second; p50 of recalls {np.median(recalls.seconds or [0]):.3f} s"
    )
    assert (len(ledger.acknowledged), answered, stored) == (events, Difference(), Difference())
    assert (recalls.foreign, letters, frozen) == (0, 0, 0)
    wrong = foreign_without_places(tmp_path / "control", models_dir)
    report.control(wrong.foreign > 0, "without places every writer has the memories of all tenants")
