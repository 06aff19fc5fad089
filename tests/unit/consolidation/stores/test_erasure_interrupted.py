"""An erasure between two publications: a restart or a failed publication loses nothing of it."""

from __future__ import annotations

import pytest

from helix_consolidation.delivery.erasing.round import ErasureTask
from helix_consolidation.stores import publish, purge
from helix_shared.artifacts.learned_adapters import ADAPTERS, CARD
from helix_shared.errors import TemporaryError
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import NOON, Bench, Stream, row

from .test_erasure import erase, residue, told


def test_vectors_that_quoted_what_is_erased_are_purged_after_a_restart(
    bench: Bench, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their place in the receipt is done once no file has them, not once they are derived again."""
    said = told(bench, stream)
    quoting = bench.rows()[memory_id("acme", "e2", 0)]
    bench.apply(erase(4, said["memory_id"]))
    bench.publish()
    other = row("acme", "e3", 3, "It rains in Porto today", session_id="s")
    derived = row("acme", "e2", 2, "Understood, thanks a lot", session_id="s", vector=said["vector"][::-1])
    bench.apply(
        stream.memories("acme", "e2", 2, [derived]),
        stream.memories("acme", "e3", 3, [derived | {"revision_sequence": 3}, other]),
    )
    bench.shard.state.erasures.open[4].is_planned = True
    assert bench.shard.state.erasures.record_rederived([2, 3])
    bench.shard.purge.note_removed()
    monkeypatch.setattr(purge, "MOST_PURGED_FIRST", 0)
    bench.publish()
    again = bench.reopened()
    [erasure] = again.shard.state.erasures.open.values()
    assert (again.shard.purge.has_work, "context_vectors" in erasure.clean_since) == (True, False)
    manifest = again.publish()
    again.shard.purge.retire(now=NOON, keep=3, min_age_seconds=3_600)
    assert erasure.clean_since["context_vectors"] == manifest.generation
    assert residue(again, quoting) == {}
    again.shard.close()


def test_an_erasure_is_not_complete_before_its_plan_is_derived_again(bench: Bench, stream: Stream) -> None:
    """What the log says of neighbours comes after the first purge: a turn without memories was quoted."""
    said = told(bench, stream)
    answer = row("acme", "e5", 5, "Nobody quotes this", session_id="other")
    bench.apply(stream.memories("acme", "e4", 4, []), stream.memories("acme", "e5", 5, [answer]))
    bench.apply(erase(6, answer["memory_id"]))
    bench.publish()
    [erasure] = bench.shard.state.erasures.open.values()
    assert "memories" in erasure.clean_since
    planned = ErasureTask.of(erasure)
    planned.following_turns, planned.is_done = {1}, True
    planned.record_plan(erasure)
    bench.publish()
    erasure.are_streams_clean = erasure.is_state_key_replaced = True
    bench.shard.purge.retire(now=NOON, keep=3, min_age_seconds=3_600)
    for _ in range(3):
        bench.publish()
    assert bench.shard.state.erasures.open == {6: erasure}
    assert not erasure.receipt.is_complete
    assert bench.shard.state.erasures.record_rederived([1])
    bench.shard.purge.is_due = True
    bench.publish()
    bench.shard.purge.retire(now=NOON, keep=3, min_age_seconds=3_600)
    assert bench.shard.purge.has_work, "the next generation says that no older one is left"
    bench.publish()
    assert erasure.receipt.is_complete
    assert bench.shard.state.erasures.open == {}
    assert said["memory_id"] in bench.rows()


class Uploads:
    """Object storage that removes at once what it is asked to."""

    def __init__(self) -> None:
        self.first = 0

    def erase_before(self, generation: int) -> None:
        """Remove older generations."""
        self.first = max(self.first, generation)

    def is_clean_before(self, generation: int) -> bool:
        """Whether they are gone."""
        return self.first >= generation


def test_copies_elsewhere_go_after_the_purge_of_the_neighbours_too(bench: Bench, stream: Stream) -> None:
    """Generations of between the two purges have the vectors that quoted what is erased."""
    said = told(bench, stream)
    uploads = Uploads()
    bench.shard.purge.attach(uploads)
    bench.apply(erase(4, said["memory_id"]))
    [erasure] = bench.shard.state.erasures.open.values()
    erasure.is_planned = True

    def published() -> int:
        number = bench.publish().generation
        bench.shard.purge.retire(now=NOON, keep=3, min_age_seconds=3_600)
        return number

    first = published()
    for _ in range(2):
        published()
    assert uploads.first == first
    assert not bench.shard.purge.has_work, "nothing is new while ingest is down"
    assert bench.shard.state.erasures.record_rederived([2, 3])
    bench.shard.purge.is_due = True
    purged = published()
    assert uploads.first == purged > first
    assert bench.shard.purge.has_work
    assert erasure.clean_since["context_vectors"] == purged
    assert published() == erasure.clean_since["generations"]


def test_an_adapter_goes_with_what_is_erased_when_the_first_publication_fails(
    bench: Bench, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lexicon was merging: the next attempt removes the adapter. One without a card counts as fitted."""
    said = told(bench, stream)
    adapter = bench.folder / ADAPTERS / "acme"
    adapter.mkdir(parents=True)
    (adapter / CARD).write_text("rubbish")
    bench.apply(erase(4, said["memory_id"]))

    def merging(*_: object, **__: object) -> None:
        raise TemporaryError("lexicon is merging")

    with monkeypatch.context() as patched:
        patched.setattr(publish, "publish", merging)
        with pytest.raises(TemporaryError):
            bench.publish()
    bench.publish()
    assert not adapter.exists()
