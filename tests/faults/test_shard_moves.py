"""A tenant moves between two shards ten times while it is written and recalled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from helix_cli.stack.stack import Stack
from helix_memory.client import Helix
from helix_memory.errors import HelixError
from helix_memory.sharding import hashed_shard
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.encoders.store import default_model
from helix_shared.machine.processes import module_command
from tests.integration.test_cli.running import run

from .conftest import Report

pytestmark = [pytest.mark.integration, pytest.mark.faults]

TENANT = "acme"
PACE_SECONDS = 0.25
WITHOUT_COPY = """
import sys

if "move" in getattr(sys, "orig_argv", []):
    from helix_cli.moving import prepared

    prepared.PreparedEvents.apply = lambda self, log, *, now: self.batches.clear()
"""


@dataclass
class Load:
    """Writers and a reader of the tenant, each in a thread."""

    stack: Stack
    sent: list[str] = field(default_factory=list)
    late: list[tuple[float, float]] = field(default_factory=list)
    """When an event was published, and the seconds until it could be recalled."""
    recalls: int = 0
    errors: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def client(self) -> Helix:
        """Of the tenant, with the addresses of both shards."""
        url, address = self.stack.nats_url, self.stack.query_address
        return Helix(tenant=TENANT, nats_url=url, query_address=address, wait_seconds=180)

    def write(self) -> None:
        """Publish at a pace."""
        with self.client() as helix:
            while not self.over.is_set():
                self._remember(helix, wait=False)
                self.over.wait(PACE_SECONDS)

    def probe(self) -> None:
        """Publish, and wait for each event until it can be recalled."""
        with self.client() as helix:
            while not self.over.is_set():
                began = time.monotonic()
                self._remember(helix, wait=True)
                self.late.append((began, time.monotonic() - began))

    def _remember(self, helix: Helix, *, wait: bool) -> None:
        text = f"The spare key number {uuid.uuid4().hex} is red."
        helix.remember(text, wait=wait)
        self.sent.append(text)

    def read(self) -> None:
        """Recall without a pause; an error, or no memory, is an error."""
        with self.client() as helix:
            while not self.over.is_set():
                self.recalls += 1
                try:
                    if not helix.recall("which spare key is red?").memories:
                        self.errors.append("no memory")
                except HelixError as error:
                    self.errors.append(str(error))


def _texts(data: Path) -> Counter[str]:
    reader = VectorReader(folder_of(data, current_number(data) or 0))
    ordinals = [batch for batch, _ in reader.all_vectors()]
    rows = reader.take(np.sort(np.concatenate(ordinals)), ("text", "tenant_id")) if ordinals else None
    found = [] if rows is None else rows.to_pylist()
    return Counter(row["text"] for row in found if row["tenant_id"] == TENANT)


def _refused_without_copying(stack: Stack, folder: Path, shard: int) -> bool:
    """Whether a move from a shard that copies nothing is refused, and leaves everything where it is."""
    before = _texts(stack.home.data_of(shard))
    (folder / "sitecustomize.py").write_text(WITHOUT_COPY)
    move = [*module_command("helix_cli"), "shards", "move", TENANT, "--to", str(1 - shard)]
    given = os.environ | {"PYTHONPATH": str(folder)}
    ended = subprocess.run(
        [*move, "--home", str(stack.home.root)], env=given, check=False, timeout=300, stderr=subprocess.PIPE
    )
    stays = _texts(stack.home.data_of(shard)) == before
    return ended.returncode == 1 and b"do not follow from the log" in ended.stderr and stays


@pytest.mark.timeout(3_600)
def test_a_tenant_moves_under_load(tmp_path: Path, models_dir: Path, report: Report) -> None:
    """Nothing is lost or twice, recalls do not fail, and the pause of freshness is bounded."""
    home, built, moves = tmp_path / "home", default_model(models_dir), report.scaled(10, least=2)
    shutil.copytree(built, home / "models" / built.name)
    with Stack(home, nats_port=0, query_port=0, copies={"doc2query": 0}, shards=2) as stack:
        stack.wait_ready(timeout_seconds=300)
        load, shard, paused = Load(stack), hashed_shard(TENANT, 2), list[float]()
        with load.client() as helix:
            helix.remember("The first spare key is red.", wait=True)
        threads = [threading.Thread(target=work) for work in (load.write, load.probe, load.read)]
        for thread in threads:
            thread.start()
        times = list[tuple[float, float]]()
        try:
            for _ in range(moves):
                time.sleep(2)
                shard, began = 1 - shard, time.monotonic()
                code, out, err = run(home, "shards", "move", TENANT, "--to", str(shard), "--json")
                assert code == 0, out + err
                paused.append(json.loads(out)["paused_seconds"])
                times.append((began, time.monotonic()))
            time.sleep(2)
        finally:
            load.over.set()
            for thread in threads:
                thread.join(120)
        with load.client() as helix:
            helix.remember("The last spare key is red.", wait=True)
        found = [_texts(stack.home.data_of(one)) for one in range(2)]
        is_refused = _refused_without_copying(stack, tmp_path, shard)
    wanted = {"The first spare key is red.", "The last spare key is red.", *load.sent}
    lost, twice = len(wanted - found[shard].keys()), sum(found[shard].values()) - len(found[shard])
    # an event that was published before or in a move, and could be recalled after it
    during = [late for at, late in load.late if any(began <= at + late and at <= end for began, end in times)]
    report.counts |= {
        "moves": moves,
        "events": len(wanted),
        "recalls": load.recalls,
        "failed": len(load.errors),
    }
    report.counts |= {"lost": lost, "twice": twice, "in the shard that it left": found[1 - shard].total()}
    freshness, stopped = np.percentile(during, 95), np.percentile(paused, 95)
    usual = np.median([late for _, late in load.late])
    report.figure = (
        f"{lost} lost, {twice} twice, {len(load.errors)} recalls failed; p95 of freshness in moves "
        f"{freshness:.2f} s, median of all {usual:.2f} s; writers stopped p95 {stopped:.2f} s"
    )
    report.control(is_refused, "a move that copies nothing is refused by its comparison with the log")
    assert (lost, twice, found[1 - shard].total()) == (0, 0, 0)
    assert load.errors == []
