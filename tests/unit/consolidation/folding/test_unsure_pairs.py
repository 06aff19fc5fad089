"""Which unsure pairs a language model is asked about: none with a text that somebody removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helix_consolidation.delivery import unsure_pairs
from helix_consolidation.delivery.unsure_pairs import UnsurePairsStore
from helix_consolidation.stores.shard import Shard
from helix_shared.pairs.messages import read_pairs
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle
from tests.unit.consolidation.slots import decide_unsure, event, ids, said

ID = ids(9)


class Pairs:
    """The stream of pairs: the last body of each subject."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}

    async def publish(self, subject: str, body: bytes, **_: object) -> None:
        """Keep a body."""
        self.bodies[subject] = body


async def _messages_of(stored: Pairs, _stream: str, subject: str) -> AsyncIterator[Any]:
    if subject in stored.bodies:
        yield SimpleNamespace(metadata=SimpleNamespace(sequence=SimpleNamespace(stream=subject)))


async def _remove_message(stored: Pairs, _stream: str, subject: str) -> bool:
    return stored.bodies.pop(subject, None) is not None


@pytest.fixture(autouse=True)
def read_without_consumers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Pairs` has no consumers: its messages are read and removed by subject."""
    monkeypatch.setattr(unsure_pairs, "messages_of", _messages_of)
    monkeypatch.setattr(unsure_pairs, "remove_message", _remove_message)


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Bench]:
    """A shard that is unsure of every replacement, and collects the pairs."""
    bench = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64, decide=decide_unsure))
    bench.shard.unsure = []
    yield bench
    bench.shard.close()


def asked(bench: Bench, stored: Pairs | None = None) -> list[tuple[str, str]]:
    """The texts of the pairs that are in the stream after the writer's turn."""
    published = stored or Pairs()
    store = UnsurePairsStore(cast("Any", published), cast("Any", published), epoch=1)
    asyncio.run(store.store(bench.shard))
    assert (bench.shard.unsure, bench.shard.unasked) == ([], set())
    pairs = [pair for body in published.bodies.values() for pair in read_pairs(body).pairs]
    return [(pair.newer.text, pair.older.text) for pair in pairs]


def test_a_forgotten_memory_is_not_paired(asking: Bench, stream: Stream) -> None:
    """The next probable pair takes its place; with none left nothing is published."""
    asking.apply(said(stream, 1, "port 1"), said(stream, 2, "port 2"), said(stream, 3, "name 3"))
    asking.apply(lifecycle(event("forget", "f", ID[2], ID[3]), 4))
    asking.shard.unsure = []
    asking.apply(said(stream, 5, "port 5"), said(stream, 6, "name 6"))
    assert asked(asking) == [("port 5", "port 1")]


@pytest.mark.parametrize("kind", ["forget", "erase"])
@pytest.mark.parametrize("removed", [1, 3])
def test_what_is_removed_after_it_was_paired_is_not_published(
    asking: Bench, stream: Stream, kind: str, removed: int
) -> None:
    """Either side of a pair; the other pairs of the event are published."""
    asking.apply(said(stream, 1, "port 1"), said(stream, 2, "port 2"))
    asking.shard.unsure = []
    asking.apply(said(stream, 3, "port 3"))
    asking.apply(lifecycle(event(kind, "f", ID[removed]), 4))
    assert asked(asking) == ([("port 3", "port 2")] if removed == 1 else [])


def test_a_restored_memory_is_asked_about(asking: Bench, stream: Stream) -> None:
    """Nothing is removed from what was collected before its publication."""
    asking.apply(said(stream, 1, "port 1"), said(stream, 2, "port 2"))
    asking.apply(lifecycle(event("forget", "f", ID[1]), 3))
    asking.apply(lifecycle(event("restore", "r", ID[1]), 4))
    assert asked(asking) == [("port 2", "port 1")]


@pytest.mark.parametrize("kind", ["forget", "erase"])
@pytest.mark.parametrize("removed", [1, 2])
def test_what_is_removed_after_it_was_published_is_taken_from_the_stream(
    asking: Bench, stream: Stream, kind: str, removed: int
) -> None:
    """The pairs of other events stay; nothing is published again."""
    stored = Pairs()
    asking.apply(*(said(stream, number, f"port {number}") for number in (1, 2)))
    asking.apply(*(said(stream, number, f"host {number}") for number in (3, 4)))
    assert asked(asking, stored) == [("port 2", "port 1"), ("host 4", "host 3")]
    asking.apply(lifecycle(event(kind, "f", ID[removed]), 5))
    assert asked(asking, stored) == [("host 4", "host 3")]
    asking.apply(lifecycle(event("restore", "r", ID[removed]), 6))
    assert asked(asking, stored) == [("host 4", "host 3")]
