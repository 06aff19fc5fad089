"""The writer: publication, crashes, takeover, gaps in the streams."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import numpy as np
import pytest

from helix_memory import subjects
from helix_memory.events import EraseEvent
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.relations.relation_files import RelationReader
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.identity import memory_id

from .conftest import DRAIN_SECONDS, LEASE_SECONDS, PATIENCE_SECONDS, Stack, row

pytestmark = pytest.mark.integration


async def test_derived_messages_become_a_generation(stack: Stack) -> None:
    """Ten memories with enrichment: all stores agree, everything is acknowledged afterwards."""
    await stack.log_events(10)
    stack.start()
    for number in range(10):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
        await stack.enrich(f"e{number}", number + 1)
    manifest = await stack.until(lambda m: m.derived_sequence == 30)
    counts = manifest.counts
    assert (counts.memories, counts.hidden, counts.lexicon, counts.signals) == (10, 0, 10, 10)
    relations = RelationReader.open(folder_of(stack.data, manifest.generation)).of(np.arange(10))
    stated = 10 + sum(holds for _, holds in relations)
    # a mention of each memory and the relations between them, each stored at both ends
    assert (counts.entities, counts.edges) == (1, 2 * stated)
    assert (manifest.applied_sequence, manifest.stream.last_sequence) == (10, 10)
    assert verify(folder_of(stack.data, manifest.generation), verified=set()) == manifest
    await stack.until_acknowledged()


@pytest.mark.long
async def test_a_killed_writer_loses_and_doubles_nothing(stack: Stack) -> None:
    """SIGKILL twice in the middle: afterwards no row is missing or doubled."""
    small = {"batch_messages": "5", "publish_interval_seconds": "0"}
    await stack.log_events(200)
    for number in range(200):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    applied = 0
    for _ in range(2):
        process = stack.start(**small)
        manifest = await stack.until(lambda m, before=applied: m.counts.memories > before)
        process.kill()
        applied = manifest.counts.memories
        assert applied < 200
    stack.start()
    manifest = await stack.until(lambda m: m.applied_sequence == 200)
    ids = [r["memory_id"] for r in stack.rows()]
    assert sorted(ids) == sorted(memory_id("acme", f"e{number}", 0) for number in range(200))
    assert manifest.counts.lexicon == 200
    await stack.until_acknowledged()


async def test_messages_held_by_a_killed_writer_are_redelivered_at_once(stack: Stack) -> None:
    """The next writer does not wait for the ack wait, which is longer than this test."""
    await provision(stack.client.jetstream(), ack_wait_seconds=600)
    await stack.log_events(21)
    slow = {"publish_interval_seconds": "600", "ack_wait_seconds": "600"}
    process = stack.start(**slow)
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until(lambda m: m.applied_sequence == 1)
    for number in range(1, 21):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await asyncio.sleep(1)
    process.kill()
    stack.start(ack_wait_seconds="600")
    manifest = await stack.until(lambda m: m.applied_sequence == 21)
    assert manifest.counts.memories == 21


async def test_a_second_writer_waits_and_takes_over(stack: Stack) -> None:
    """One writes at a time; when it is killed the other takes over with a later epoch."""
    await stack.log_events(2)
    first = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    before = await stack.until(lambda m: m.applied_sequence == 1)
    second = stack.start()
    await stack.until_logged(second, "standing by")
    await asyncio.sleep(2)
    assert "loaded" not in stack.log(second)
    first.kill()
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    after = await stack.until(lambda m: m.applied_sequence == 2)
    assert after.epoch > before.epoch
    assert after.generation > before.generation
    assert len(stack.rows()) == 2


async def test_a_derived_message_published_twice_changes_nothing(stack: Stack) -> None:
    """As by another run of the worker, under another message id."""
    await stack.log_events(1)
    stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until(lambda m: m.applied_sequence == 1)
    before = stack.rows()
    await stack.derive("e0", 1, [row("e0", 1, "one")], version="2")
    await stack.until(lambda m: m.derived_sequence == 2)
    assert stack.rows() == before


async def test_a_backlog_is_published_rarely_and_an_erasure_at_once(stack: Stack) -> None:
    """With 800 events in the log, 200 are published in few generations; an erasure does not wait."""
    await stack.log_events(1_000)
    stack.start(publish_interval_seconds="0", apply_interval_seconds="0", backlog_interval_seconds="60")
    await stack.derive("e0", 1, [row("e0", 1, "text 0")])
    await stack.until(lambda m: m.applied_sequence == 1)
    for number in range(1, 200):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    published = current_number(stack.data)
    assert published is not None
    assert published <= 3
    await stack.publish_event(
        EraseEvent(event_id="gone", tenant_id="acme", memory_ids=[memory_id("acme", "e0", 0)])
    )
    manifest = await stack.until(lambda m: m.applied_sequence == 200)
    assert manifest.generation <= published + 3
    # hidden at once; removed from the stores when the events before the erasure are processed
    assert {r["memory_id"] for r in stack.rows() if r["hidden"]} == {memory_id("acme", "e0", 0)}


OTHER_HOLDER = b'{"holder": "another", "lock": "elsewhere"}'


async def test_a_lost_lease_stops_publishing_until_it_is_free_again(stack: Stack) -> None:
    """While another process has the lease nothing is published; then the same process continues."""
    await stack.log_events(2)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    before = await stack.until(lambda m: m.applied_sequence == 1)
    bucket = await stack.client.jetstream().key_value(streams.LEASES)
    await bucket.put(streams.writer_key(0), OTHER_HOLDER)
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    await stack.until_logged(process, "another process has the lease")
    assert current_number(stack.data) == before.generation
    await bucket.delete(streams.writer_key(0))
    after = await stack.until(lambda m: m.applied_sequence == 2)
    assert after.epoch > before.epoch
    assert process.poll() is None


async def test_a_writer_suspended_past_its_lease_publishes_nothing(stack: Stack) -> None:
    """Suspended for longer than the time to live: another process has the lease, and it is on standby."""
    await stack.log_events(2)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    before = await stack.until(lambda m: m.applied_sequence == 1)
    process.send_signal(signal.SIGSTOP)
    bucket = await stack.client.jetstream().key_value(streams.LEASES)
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    await asyncio.sleep(LEASE_SECONDS)
    await bucket.put(streams.writer_key(0), OTHER_HOLDER)
    process.send_signal(signal.SIGCONT)
    await stack.until_logged(process, "another process has the lease")
    assert current_number(stack.data) == before.generation


async def test_sigterm_publishes_what_was_applied(stack: Stack) -> None:
    """The process ends with 0; what it had not applied yet, and that alone, is for the next one."""
    await stack.log_events(21)
    process = stack.start(publish_interval_seconds="600")
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until(lambda m: m.applied_sequence == 1)
    for number in range(20):
        await stack.derive(f"x{number}", 2 + number, [row(f"x{number}", 2 + number, f"text {number}")])
    await asyncio.sleep(3)
    assert await stack.unacknowledged() == 20
    process.terminate()
    assert await asyncio.to_thread(process.wait, DRAIN_SECONDS) == 0
    published = len(stack.rows())
    assert published > 1
    assert await stack.unacknowledged() == 21 - published


async def test_a_gap_in_the_event_stream_is_skipped(stack: Stack) -> None:
    """Event 2 was deleted from the stream: the applied sequence passes it."""
    await stack.log_events(3)
    await stack.client.jetstream().delete_msg(subjects.EVENTS_STREAM, 2)
    stack.start()
    for number in (0, 2):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    manifest = await stack.until(lambda m: m.applied_sequence == 3)
    assert manifest.counts.memories == 2


async def test_a_late_event_is_waited_for(stack: Stack) -> None:
    """Event 2 is in the stream and not derived yet: the applied sequence stops before it."""
    await stack.log_events(3)
    stack.start()
    for number in (0, 2):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await stack.until(lambda m: m.counts.memories == 2)
    await asyncio.sleep(2)
    number = current_number(stack.data)
    assert number is not None
    assert Manifest.read(folder_of(stack.data, number)).applied_sequence == 1
    await stack.derive("e1", 2, [])
    await stack.until(lambda m: m.applied_sequence == 3)


async def test_an_empty_folder_refuses_a_stream_that_was_acknowledged(stack: Stack, tmp_path: Path) -> None:
    """The acknowledged messages would be missing in this folder without an error."""
    await stack.log_events(1)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until_acknowledged()
    process.terminate()
    await asyncio.to_thread(process.wait, PATIENCE_SECONDS)
    stranger = stack.start(data_dir=str(tmp_path / "empty"))
    assert await asyncio.to_thread(stranger.wait, PATIENCE_SECONDS) == 1
    assert "were acknowledged" in stack.log(stranger)


@pytest.mark.long
async def test_a_dead_letter_is_stored_once_its_stream_exists_again(stack: Stack) -> None:
    """Its generation is published before the letter is stored; a restarted writer stores it."""
    manager = stack.client.jetstream()
    config = (await manager.stream_info(subjects.DLQ_STREAM)).config
    await manager.delete_stream(subjects.DLQ_STREAM)
    await stack.log_events(2)
    process = stack.start(publish_timeout_seconds="0.2")
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.derive("e1", 2, [row("e1", 2, "two", corrects=memory_id("acme", "unknown", 0))])
    await stack.until(lambda m: m.applied_sequence == 2)
    await stack.until_logged(process, "dead letter not stored")
    process.kill()
    await manager.add_stream(config)
    stack.start()
    await stack.until_acknowledged()
    letter = await manager.get_last_msg(subjects.DLQ_STREAM, subjects.dlq_subject("consolidation", "acme"))
    assert "there is no memory" in letter.headers[subjects.REASON_HEADER]
