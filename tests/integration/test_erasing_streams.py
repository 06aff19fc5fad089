"""What removes bytes from the files of NATS, with the ways that do not as controls."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from nats.aio.client import Client

from helix_consolidation.delivery.erasing.derived_blocks import drop_derived_bytes
from helix_consolidation.delivery.erasing.erased_ids import MessageIds
from helix_consolidation.delivery.erasing.eraser import Eraser
from helix_consolidation.delivery.erasing.other_streams import remove_answers, remove_dead_letters
from helix_consolidation.delivery.erasing.plan import plan
from helix_consolidation.delivery.erasing.reading import messages_of, remove_message
from helix_consolidation.delivery.erasing.round import ErasureTask
from helix_consolidation.delivery.store_thread import StoreThread
from helix_consolidation.delivery.streams.prune import prune_derived, readers_of
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.ledger.event_reach import TENANT
from helix_consolidation.ledger.lifecycle.erasures import Erasures
from helix_consolidation.stores.shard import Shard
from helix_consolidation.stores.state_files import restore_state
from helix_memory import subjects
from helix_memory.events import DocumentEvent, EraseEvent, MessageEvent
from helix_memory.transport.publisher import Publisher
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.broker.dead_letters import LetterOrigin, publish_dead_letter
from helix_shared.broker.log_reader import BATCH
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.errors import TemporaryError
from helix_shared.identity import memory_id
from helix_shared.keys.key_store import KEYS, KeyStore
from helix_shared.pairs.messages import Pair, PairedText, UnsurePairs
from tests.folder_contents import contents
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, row

pytestmark = pytest.mark.integration

WORD: Final = b"zqcanaryword"


async def nothing_archived(_: Collection[int]) -> frozenset[int]:
    """The archive of a writer that has none: no event of it is left to erase."""
    return frozenset()


def left(server: NatsServer) -> int:
    """How often the word is in the files of the server."""
    return sum(content.count(WORD) for _, content in contents(server.folder))


async def has_left(server: NatsServer, expected: int) -> bool:
    """Whether the word is there so often, at the latest after 20 s: the server writes a little later."""
    for _ in range(200):
        if left(server) == expected:
            return True
        await asyncio.sleep(0.1)
    return False


async def test_a_removed_message_leaves_no_byte_and_a_purged_one_does(
    nats_client: Client, nats_server: NatsServer
) -> None:
    """The control is the purge of a subject: the message is gone, its bytes are not."""
    jetstream = nats_client.jetstream()
    subject = subjects.event_subject("acme", "s", "message")
    first = await jetstream.publish(subject, b"one " + WORD)
    await jetstream.publish(subjects.event_subject("acme", "t", "message"), b"two " + WORD)
    await jetstream.publish(subjects.event_subject("acme", "u", "message"), b"three")
    assert await remove_message(jetstream, subjects.EVENTS_STREAM, first.seq)
    assert not await remove_message(jetstream, subjects.EVENTS_STREAM, first.seq)
    assert await has_left(nats_server, 1)
    await jetstream.purge_stream(
        subjects.EVENTS_STREAM, subject=subjects.event_subject("acme", "t", "message")
    )
    assert await has_left(nats_server, 1)
    held = [message.data async for message in messages_of(jetstream, subjects.EVENTS_STREAM, ">")]
    assert held == [b"three"]


async def test_a_listing_is_whole_or_fails(nats_client: Client, nats_server: NatsServer) -> None:
    """Messages that go meanwhile are not missed; a server that does not answer is no end of the stream."""
    jetstream, subject = nats_client.jetstream(), subjects.event_subject("acme", "s", "message")
    last = 2 * BATCH + 3
    await asyncio.gather(*(jetstream.publish(subject, b"%d" % number) for number in range(last)))
    removed, read = range(last - 5, last + 1), list[int]()
    async for message in messages_of(jetstream, subjects.EVENTS_STREAM, subject):
        read.append(message.metadata.sequence.stream)
        if len(read) == 1:
            for sequence in removed:
                await remove_message(jetstream, subjects.EVENTS_STREAM, sequence)
    assert read == list(range(1, removed.start))
    server = nats_server.process
    assert server is not None
    try:
        with pytest.raises(TemporaryError, match="does not answer"):  # noqa: PT012  the listing
            async for _ in messages_of(jetstream, subjects.EVENTS_STREAM, subject):
                server.send_signal(signal.SIGSTOP)
                await asyncio.to_thread(os.waitid, os.P_PID, server.pid, os.WSTOPPED | os.WNOWAIT)
    finally:
        server.send_signal(signal.SIGCONT)


async def test_derived_bytes_go_while_more_messages_come(
    nats_client: Client, nats_server: NatsServer
) -> None:
    """Pruning alone leaves them: the last message is not acknowledged by anybody yet."""
    jetstream = nats_client.jetstream()
    subject = subjects.derived_subject("memories", "acme")
    for number in range(5):
        await jetstream.publish(subject, b"%d " % number + WORD)
    pulls = [await jetstream.pull_subscribe_bind(name, subjects.DERIVED_STREAM) for name in readers_of(1)]

    async def acknowledge() -> None:
        for pull in pulls:
            for message in await pull.fetch(5, timeout=5):
                await message.ack_sync()

    await acknowledge()
    await jetstream.publish(subject, b"still needed")
    assert await prune_derived(jetstream)
    assert await has_left(nats_server, 5)
    for pull in pulls:
        [needed] = await pull.fetch(1, timeout=5)
        await needed.ack_sync()
    assert await drop_derived_bytes(jetstream)
    assert await has_left(nats_server, 0)


async def test_who_is_derived_again_is_stored_before_the_log_loses_the_erased_turn(
    nats_client: Client, tmp_path: Path
) -> None:
    """Killed after any step, the writer still knows of the turn after it."""
    jetstream, publisher = nats_client.jetstream(), Publisher(nats_client.jetstream())
    bench, stream = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64)), Stream()
    for number in (1, 2):
        said = MessageEvent(
            event_id=f"e{number}", tenant_id="acme", session_id="s", role="user", text="hello"
        )
        sequence = (await publisher.publish_event(said)).sequence
        bench.apply(
            stream.memories("acme", said.event_id, sequence, [row("acme", said.event_id, sequence, "hello")])
        )
    erase = EraseEvent(event_id="x", tenant_id="acme", memory_ids=[memory_id("acme", "e1", 0)])
    last = (await publisher.publish_event(erase)).sequence
    bench.apply(lifecycle(erase, last))
    bench.publish()

    with ThreadPoolExecutor(1) as executor:
        thread = StoreThread(executor, deadline_seconds=60)
        eraser = Eraser(nats_client, publisher, thread, bench.shard, nothing_archived, tmp_path)
        for now in (10.0, 20.0):
            eraser.run_due(now)
            for work in (eraser._planning, eraser._cleaning):
                if work.running is not None:
                    await work.running
            is_removed = (await jetstream.stream_info(subjects.EVENTS_STREAM)).state.messages == 2
            stored = ConsolidationState()
            restore_state(stored, folder_of(tmp_path, bench.shard.manifest.generation))
            assert stored.erasures.open[last].to_rederive == ({2} if is_removed else set())
            eraser.run_due(now)
            bench.publish()
    assert is_removed
    bench.shard.close()


async def test_an_erasure_that_waits_for_a_backup_asks_for_no_generation(
    nats_client: Client, tmp_path: Path
) -> None:
    """A backup takes minutes to hours, and a round is tried every second: nothing is new in between."""
    publisher = Publisher(nats_client.jetstream())
    bench, stream = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64)), Stream()
    said = MessageEvent(event_id="e1", tenant_id="acme", session_id="s", role="user", text="hello")
    sequence = (await publisher.publish_event(said)).sequence
    bench.apply(stream.memories("acme", "e1", sequence, [row("acme", "e1", sequence, "hello")]))
    erase = EraseEvent(event_id="x", tenant_id="acme", memory_ids=[memory_id("acme", "e1", 0)])
    bench.apply(lifecycle(erase, (await publisher.publish_event(erase)).sequence))
    bench.publish()

    with ThreadPoolExecutor(1) as executor:
        thread = StoreThread(executor, deadline_seconds=60)
        eraser = Eraser(nats_client, publisher, thread, bench.shard, nothing_archived, tmp_path)

        async def needs_a_generation(now: float) -> bool:
            eraser.run_due(now)
            for work in (eraser._planning, eraser._cleaning):
                if work.running is not None:
                    await work.running
            is_needed = eraser.run_due(now)
            if is_needed:
                bench.publish()
            return is_needed

        with KeyStore.held(tmp_path / KEYS):
            found = [await needs_a_generation(10.0 * turn) for turn in range(1, 5)]
        # the plan is stored, then that no older generation is left
        assert found == [True, True, False, False]
        assert await needs_a_generation(50.0)
        assert not bench.shard.state.erasures.open[2].events
    bench.shard.close()


async def test_neighbours_lose_their_quotations_of_an_erased_turn_that_has_no_memory(
    nats_client: Client, tmp_path: Path
) -> None:
    """Ingest failed at it, so it is a dead letter; two later turns of another user quote it all the same."""
    publisher = Publisher(nats_client.jetstream())
    bench, stream = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64)), Stream()
    quoting = {
        "session_id": "s",
        "user_id": "bob",
        "shared": True,
        "quotes": ["e1"],
        "context": "ann: secret",
    }
    for number in range(1, 4):
        who = {"user_id": "ann" if number == 1 else "bob", "shared": True}
        said = MessageEvent(
            event_id=f"e{number}", tenant_id="acme", session_id="s", role="user", text="hello", **who
        )
        sequence = (await publisher.publish_event(said)).sequence
        rows = [row("acme", said.event_id, sequence, f"hello {number}", **quoting)] if number > 1 else []
        bench.apply(stream.memories("acme", said.event_id, sequence, rows))
    erase = EraseEvent(event_id="x", tenant_id="acme", of_user="ann")
    last = (await publisher.publish_event(erase)).sequence
    bench.apply(lifecycle(erase, last))
    bench.publish()

    with ThreadPoolExecutor(1) as executor:
        thread = StoreThread(executor, deadline_seconds=60)
        eraser = Eraser(nats_client, publisher, thread, bench.shard, nothing_archived, tmp_path)
        eraser.run_due(10.0)
        assert eraser._planning.running is not None
        await eraser._planning.running
        assert eraser.run_due(11.0)
        bench.publish()
    rows = [one for one in bench.rows().values() if one["text"].startswith("hello")]
    assert [(one["context"], one["quotes"]) for one in rows] == [("", [])] * 2
    erasure = bench.shard.state.erasures.open[last]
    assert (erasure.events, erasure.to_rederive) == ({1}, {2, 3})
    assert erasure.counts["contexts"] == 2
    bench.shard.close()


async def test_copies_are_remembered_until_a_round_has_dropped_them(
    nats_client: Client, tmp_path: Path
) -> None:
    """A generation that is published during the round may be the last one before a restart."""
    publisher = Publisher(nats_client.jetstream())
    bench = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64))
    erasures = bench.shard.state.erasures
    erasures.note_quoting_message()

    with ThreadPoolExecutor(1) as executor:
        thread = StoreThread(executor, deadline_seconds=60)
        eraser = Eraser(nats_client, publisher, thread, bench.shard, nothing_archived, tmp_path)
        for now, comes in ((10.0, True), (20.0, False)):
            eraser.run_due(now)
            assert Erasures.from_json(erasures.to_json()).has_quoting_messages
            if comes:
                erasures.note_quoting_message()
            assert eraser._cleaning.running is not None
            await eraser._cleaning.running
            eraser.run_due(now)
            assert erasures.has_quoting_messages is comes
    bench.shard.close()


async def test_copies_of_removed_events_go_and_others_stay(
    nats_client: Client, nats_server: NatsServer
) -> None:
    """Dead letters by their event, by what they hold, and answers by the events they name."""
    jetstream = nats_client.jetstream()
    await provision(jetstream, endpoint=True)
    letters = {
        "1": b'{"event_id":"a","text":"' + WORD + b'"}',
        "2": b'{"event_id":"erased","text":"' + WORD + b'"}',
        "3": b'{"event_id":"b","text":"kept"}',
    }
    for event, body in letters.items():
        headers = {subjects.EVENT_SEQUENCE_HEADER: event}
        await jetstream.publish(subjects.dlq_subject("ingest", "acme"), body, headers=headers)
    for key, named in (("k1", "1,5"), ("k2", "3")):
        answer = WORD if key == "k1" else b"kept"
        headers = {subjects.EVENTS_HEADER: named}
        await jetstream.publish(subjects.answer_subject("acme", key), answer, headers=headers)

    async def are_erased(_tenant: str, named: Sequence[MessageIds]) -> list[bool]:
        return ["erased" in one.events for one in named]

    assert await remove_dead_letters(jetstream, "acme", {1}, are_erased) == {1: 1, 2: 1}
    assert await remove_answers(jetstream, "acme", {1}) == {1: 1}
    assert await has_left(nats_server, 0)
    kept = [
        message.data
        for stream in (subjects.DLQ_STREAM, subjects.ANSWERS_STREAM)
        async for message in messages_of(jetstream, stream, ">")
    ]
    assert kept == [letters["3"], b"kept"]


@pytest.mark.parametrize(("removed", "erased"), [({3}, ""), ({9}, ""), (set(), "older")])
async def test_the_letter_of_refused_pairs_goes_with_either_text(
    nats_client: Client, removed: set[int], erased: str
) -> None:
    """With the event of the newer one, 9, with that of the older one, 3, and with an erased memory."""
    jetstream = nats_client.jetstream()
    await provision(jetstream, endpoint=True)
    sides = [PairedText(memory_id=name, sequence=at, text=name) for name, at in (("newer", 9), ("older", 3))]
    pair = Pair(newer=sides[0], older=sides[1])
    pairs = UnsurePairs(tenant_id="acme", event_sequence=9, stored_at=1, group=1, pairs=(pair,))
    origin = LetterOrigin(subjects.pairs_subject("acme", 9), subjects.PAIRS_STREAM, 1, 9)
    body, publisher = pairs.model_dump_json().encode(), Publisher(jetstream)
    await publish_dead_letter(origin, body, "no", service="extract", publisher=publisher)

    async def are_erased(_tenant: str, named: Sequence[MessageIds]) -> list[bool]:
        return [erased in one.memories for one in named]

    assert await remove_dead_letters(jetstream, "acme", {4}, are_erased) == ({9: 1} if erased else {})
    assert await remove_dead_letters(jetstream, "acme", removed, are_erased) == (
        {} if erased else dict.fromkeys(removed, 1)
    )
    assert [one async for one in messages_of(jetstream, subjects.DLQ_STREAM, ">")] == []


async def test_erasures_of_many_documents_read_the_log_once(nats_client: Client) -> None:
    """A reading for each would take a hundred times as long for a hundred documents."""
    publisher, state, count = Publisher(nats_client.jetstream()), ConsolidationState(), 20
    readings = await nats_client.subscribe("$JS.API.CONSUMER.CREATE.>")
    sequences = list[int]()
    for number in range(2 * count):
        document = DocumentEvent(
            event_id=f"d{number}", tenant_id="acme", document_id=f"{number}", body="text"
        )
        sequences.append((await publisher.publish_event(document)).sequence)
    tasks = list[ErasureTask]()
    for number in range(count):
        erase = EraseEvent(event_id=f"x{number}", tenant_id="acme", of_document=f"{number}")
        sequence = (await publisher.publish_event(erase)).sequence
        tasks.append(ErasureTask(sequence, "acme", TENANT, may_select_without_memory=True, events=set()))

    async def remove_quotations(_: ErasureTask) -> None:
        pass

    with ThreadPoolExecutor(1) as executor:
        thread = StoreThread(executor, deadline_seconds=60)
        await plan(tasks, client=nats_client, thread=thread, state=state, remove_quotations=remove_quotations)
    assert [task.events for task in tasks] == [{sequence} for sequence in sequences[:count]]
    assert all(task.is_done for task in tasks)
    await nats_client.flush()
    assert readings.pending_msgs == 1
