"""The writer archives every event before it applies what comes of it; after any kill there is no gap."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import pytest

from helix_memory.events import EraseEvent, MemoryEvent
from helix_memory.subjects import EVENTS_STREAM
from helix_memory.transport.publisher import Publisher
from helix_shared.event_log.archive import Archive
from helix_shared.event_log.archive_files import CARD, entries_of, read_segments, verify
from helix_shared.event_log.read import records_of
from helix_shared.event_log.segment import Gap
from helix_shared.identity import memory_id

from .conftest import PATIENCE_SECONDS, Stack, row

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

DYING = """
import os, runpy, signal
from helix_consolidation.archiving.event_archive import EventArchive

async def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

EventArchive.erase = die
runpy.run_module("helix_consolidation", run_name="__main__")
"""
SMALL = {"batch_messages": "5", "publish_interval_seconds": "0", "archive_segment_bytes": "4096"}


def archive_of(stack: Stack) -> Path:
    """The folder of the archive."""
    return stack.data / "archive"


async def publish(stack: Stack, first: int, end: int) -> None:
    """Publish events and their memories."""
    publisher = Publisher(stack.client.jetstream())
    for number in range(first, end):
        await publisher.publish_event(MemoryEvent(event_id=f"e{number}", tenant_id="acme", text="text"))
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])


@pytest.mark.long
async def test_killed_writer_leaves_no_gap_and_applies_nothing_before_the_archive(stack: Stack) -> None:
    """At every generation the archive holds what the generation has, and in the end every event once."""
    for count in (30, 60, 90):
        await publish(stack, count - 30, count)
        process = stack.start(**SMALL)
        manifest = await stack.until(lambda m, before=count - 30: m.applied_sequence > before)
        process.kill()
        process.wait()
        assert verify(archive_of(stack)).last_sequence >= manifest.applied_sequence
    stack.start(**SMALL)
    await publish(stack, 90, 120)
    await stack.until(lambda m: m.applied_sequence == 120)
    await stack.stopped()
    assert [one.sequence for one in records_of(archive_of(stack))] == list(range(1, 121))
    assert len(read_segments(archive_of(stack))) > 2


async def test_archive_that_cannot_be_written_stops_the_writer(stack: Stack) -> None:
    """Nothing is applied that is not archived: an archive of another log ends the process first."""
    await publish(stack, 0, 3)
    Archive(archive_of(stack), log="2020-01-01T00:00:00+00:00").close()
    process = stack.start()
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) != 0
    assert "is the archive of a log that was created at" in stack.log(process)
    assert not (stack.data / "CURRENT").exists()
    process = stack.start(archive="false")
    await stack.until(lambda m: m.applied_sequence == 3)


async def test_event_that_the_log_lacks_is_a_gap_with_its_reason(stack: Stack) -> None:
    """A removed event is accounted for, so a missing sequence is never silent."""
    await stack.log_events(6)
    await stack.client.jetstream().delete_msg(EVENTS_STREAM, 3)
    stack.start()
    for number in (0, 1, 3, 4, 5):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await stack.until(lambda m: m.applied_sequence == 6)
    await stack.stopped()
    assert [one for one in entries_of(archive_of(stack)) if isinstance(one, Gap)] == [
        Gap(3, 3, "not in the log")
    ]


async def test_paused_writer_leaves_a_readable_archive(stack: Stack) -> None:
    """A reader may run beside the writer: what it sees is whole."""
    process = stack.start(**SMALL)
    await publish(stack, 0, 60)
    for _ in range(5):
        if (archive_of(stack) / CARD).exists():
            process.send_signal(signal.SIGSTOP)
            verify(archive_of(stack))
            process.send_signal(signal.SIGCONT)
        await asyncio.sleep(0.05)
    await stack.until(lambda m: m.applied_sequence == 60)
    assert verify(archive_of(stack)).records == 60


def bytes_of(archive: Path) -> bytes:
    """Everything that the files of the archive hold."""
    return b"".join(path.read_bytes() for path in archive.iterdir())


@pytest.mark.parametrize("archive", ["true", "false"])
async def test_erased_event_leaves_the_archive_after_a_kill(stack: Stack, archive: str) -> None:
    """The log has lost it, the archive has not: the next writer finishes, also one that archives nothing."""
    publisher = Publisher(stack.client.jetstream())
    for number, text in enumerate(("kept", "zqarchived", "kept too")):
        await publisher.publish_event(MemoryEvent(event_id=f"e{number}", tenant_id="acme", text=text))
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    process = stack.start(code=DYING)
    await stack.until(lambda m: m.applied_sequence == 3)
    erased = EraseEvent(event_id="x", tenant_id="acme", memory_ids=[memory_id("acme", "e1", 0)])
    await stack.publish_event(erased)
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) == -signal.SIGKILL
    log = await stack.client.jetstream().stream_info(EVENTS_STREAM)
    assert log.state.num_deleted == 1
    assert b"zqarchived" in bytes_of(archive_of(stack))
    stack.start(archive=archive)
    await stack.until(lambda _: b"zqarchived" not in bytes_of(archive_of(stack)))
    await stack.stopped()
    assert [one.sequence for one in records_of(archive_of(stack))] == [1, 3, 4]
    assert verify(archive_of(stack)).erased == 1
