"""`helix shards move`: a tenant goes to another shard and back, whole, whatever ends the command."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from helix_cli.clients.broker import connected, last_event_sequence, run_async
from helix_cli.rebuilding.parity.compare import compare
from helix_cli.rebuilding.parity.result import Parity
from helix_cli.stack.stack import Stack
from helix_consolidation.stores.erased_before import erased_spans
from helix_memory.sharding import hashed_shard
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.encoders.store import default_model
from helix_shared.event_log.archive_files import entries_of
from helix_shared.event_log.record import EventRecord

from .lived import change, lived_events, publish
from .running import run, until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TENANT = "acme"
FIRST = hashed_shard(TENANT, 2)
OTHER = 1 - FIRST
ERASED = "xyzzyplugh42"


class Home:
    """A stack with two shards, and the data folder of each."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.root = stack.home.root

    def data(self, shard: int) -> Path:
        """The data folder of a shard."""
        return self.stack.home.data_of(shard)

    def manifest(self, shard: int) -> Manifest:
        """Of the current generation."""
        return Manifest.read(self.folder(shard))

    def folder(self, shard: int) -> Path:
        """The current generation."""
        number = current_number(self.data(shard))
        assert number is not None
        return folder_of(self.data(shard), number)

    def kept(self, shard: int, folder: Path) -> Generation:
        """A copy of the current generation, below `folder`."""
        number = self.manifest(shard).generation
        shutil.copytree(self.folder(shard), folder_of(folder, number), copy_function=os.link)
        return Generation.open(folder, number)

    def move(self, shard: int, tenant: str = TENANT) -> dict[str, Any]:
        """Move the tenant, and what is told of it."""
        code, out, err = run(self.root, "shards", "move", tenant, "--to", str(shard), "--json")
        assert code == 0, out + err
        told: dict[str, Any] = json.loads(out)
        return told

    def archived(self, shard: int) -> set[int]:
        """Sequences of the events of the tenant in the archive of a shard."""
        entries = entries_of(self.data(shard) / "archive")
        subject = f"helix.v1.events.{TENANT}."
        return {e.sequence for e in entries if isinstance(e, EventRecord) and e.subject.startswith(subject)}

    def rest(self) -> int:
        """Wait until both shards have applied the log; returns its end."""

        async def last() -> int:
            async with connected(self.stack.nats_url) as jetstream:
                return await last_event_sequence(jetstream)

        end = run_async(last())
        until(lambda: all(self.manifest(shard).applied_sequence >= end for shard in (0, 1)))
        return end


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Home]:
    """A tenant with events of every kind, alone in its shard."""
    folder, built = tmp_path_factory.mktemp("move") / "home", default_model(models_dir)
    shutil.copytree(built, folder / "models" / built.name)
    with Stack(folder, nats_port=0, query_port=0, copies={"doc2query": 0}, shards=2) as stack:
        stack.wait_ready(timeout_seconds=240)
        made = Home(stack)
        publish(folder, lived_events())
        change(folder, made.data(FIRST))
        yield made


def _compared(before: Generation, after: Generation, erased: list[tuple[int, int]], up_to: int) -> Parity:
    parity = Parity(before.manifest.generation, up_to)
    compare(before, after, parity, erased=erased)
    return parity


def test_a_moved_tenant_is_what_it_was_and_so_it_is_when_it_comes_back(home: Home, tmp_path: Path) -> None:
    """Memories, versions, vectors, links and relations are equal; the shard that it leaves has nothing."""
    end = home.rest()
    erased = erased_spans(home.folder(FIRST))
    with closing(home.kept(FIRST, tmp_path / "before")) as before:
        count = before.manifest.counts.memories
        assert count > 30
        for target, source in ((OTHER, FIRST), (FIRST, OTHER)):
            told = home.move(target)
            assert (told["source"], told["target"], told["memories"]) == (source, target, count)
            assert home.manifest(source).counts.memories == 0
            assert home.manifest(target).counts.memories == count
            with closing(home.kept(target, tmp_path / str(target))) as after:
                parity = _compared(before, after, erased, end)
            assert not parity.refuses, parity
            assert {s.name: s.different for s in parity.sections if s.different > s.explained} == {}
            compared = {s.name for s in parity.sections if s.compared}
            assert compared >= {"memories", "vectors", "links", "relations"}
            assert home.archived(source) == set()
            assert len(home.archived(target)) == told["events"]
