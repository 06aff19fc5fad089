"""ingest as a process: every event gives exactly one message, also when the worker is killed."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from nats.aio.client import Client

from helix_memory import subjects
from helix_memory.events import DocumentEvent, ForgetEvent, MessageEvent, SessionEvent
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.broker.worker.rederive import request_derivation
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import load_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import TemporaryError
from tests import preloaded
from tests.preloaded import Started

pytestmark = pytest.mark.integration


@contextlib.contextmanager
def worker(server: NatsServer, models_dir: Path, **settings: str) -> Iterator[Started]:
    """One ingest process."""
    environ = os.environ | {"HELIX_INGEST_NATS_URL": server.url, "HELIX_INGEST_MODELS_DIR": str(models_dir)}
    environ |= {f"HELIX_INGEST_{name}": value for name, value in settings.items()}
    process = preloaded.start("helix_ingest", environ, server.folder.parent / f"ingest-{uuid4().hex}.log")
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


async def derived(client: Client, count: int) -> list[tuple[edges.Origin, pa.RecordBatch]]:
    """The first `count` messages of the memories edge, in order of arrival."""
    subscription = await client.jetstream().pull_subscribe_bind(
        streams.CONSOLIDATION_DERIVED, subjects.DERIVED_STREAM
    )
    found: list[tuple[edges.Origin, pa.RecordBatch]] = []
    while len(found) < count:
        for message in await subscription.fetch(count - len(found), timeout=60):
            found.append(edges.decode(message.data))
            await message.ack()
    return found


def said(n: int, text: str, *, session: str = "s") -> MessageEvent:
    """A turn of a conversation."""
    return MessageEvent(event_id=f"e{n}", tenant_id="acme", session_id=session, role="user", text=text)


def primary(found: list[tuple[edges.Origin, pa.RecordBatch]]) -> list[dict[str, Any]]:
    """Rows of the event's own memories, without the new revision of the previous turn."""
    rows = [row for _, batch in found for row in batch.to_pylist()]
    return [row for row in rows if row["revision_sequence"] == row["stream_sequence"]]


async def test_every_event_is_answered_by_exactly_one_message(
    nats_server: NatsServer, nats_client: Client, models_dir: Path
) -> None:
    """An event without memories and a refused event give no rows; refused ones become dead letters."""
    publisher = Publisher(nats_client.jetstream())
    await publisher.publish_event(said(1, "We moved staging to port 8443 yesterday."))
    await publisher.publish_event(
        SessionEvent(event_id="x", tenant_id="acme", session_id="s", phase="started")
    )
    await publisher.publish("helix.v1.events.acme.s.message", b'{"kind":"message","event_id"', message_id="1")
    await publisher.publish("helix.v1.events.acme.s.gossip", b'{"kind":"gossip"}', message_id="2")
    await publisher.publish(
        "helix.v1.events.other.s.message", said(2, "not my tenant").model_dump_json().encode(), message_id="3"
    )
    await publisher.publish("helix.v1.events.ac!me.s.message", b"{}", message_id="4")
    await publisher.publish_event(said(5, "Fine."))
    with worker(nats_server, models_dir):
        found = await derived(nats_client, 7)
    assert sorted(origin.event_sequence for origin, _ in found) == [1, 2, 3, 4, 5, 6, 7]
    assert {o.event_sequence: b.num_rows for o, b in found} == {1: 1, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 2}
    letters = [
        await nats_client.jetstream().get_msg(subjects.DLQ_STREAM, sequence) for sequence in (1, 2, 3, 4)
    ]
    reasons = {
        m.headers[subjects.SEQUENCE_HEADER]: m.headers[subjects.REASON_HEADER] for m in letters if m.headers
    }
    assert reasons["3"].startswith("event: is not JSON")
    assert reasons["4"].startswith("kind: unknown kind gossip")
    assert reasons["5"].startswith("tenant_id: the body differs")
    assert reasons["6"].startswith("subject: not helix.v1.events")


async def test_row_holds_what_the_event_says_and_a_unit_vector(
    nats_server: NatsServer, nats_client: Client, models_dir: Path
) -> None:
    """The memory record of spec.md section 3, and the card of the model that made the vector."""
    await Publisher(nats_client.jetstream()).publish_event(
        said(1, "We moved staging to port 8443 on 2026-09-01.")
    )
    with worker(nats_server, models_dir):
        ((origin, batch),) = await derived(nats_client, 1)
    row = batch.to_pylist()[0]
    assert (origin.edge, origin.event_id, origin.tenant_id) == ("memories", "e1", "acme")
    assert row["event_start"].isoformat() == "2026-09-01T00:00:00+00:00"
    assert np.linalg.norm(row["vector"]) == pytest.approx(1, abs=1e-5)
    assert row["created_at"] == row["occurred_at"]
    card = load_card(default_model(models_dir))
    assert (len(row["vector"]), row["model"]) == (card.dimensions, card.id)
    with Encoder.load(default_model(models_dir)) as encoder:
        _, codes = encoder.embed_with_codes("user: We moved staging to port 8443 on 2026-09-01.")
    assert row["token_codes"] == codes.tobytes()


async def test_two_copies_and_a_kill_answer_every_event_once(
    nats_server: NatsServer, nats_client: Client, models_dir: Path
) -> None:
    """After SIGKILL the rest is delivered again after the ack wait; ids follow from the events."""
    await provision(nats_client.jetstream(), ack_wait_seconds=3)
    publisher = Publisher(nats_client.jetstream())
    total = 60
    for n in range(total):
        await publisher.publish_event(said(n, f"turn {n} speaks of subject number {n}", session=f"s{n % 3}"))
    with (
        worker(nats_server, models_dir, BATCH_SIZE="4") as first,
        worker(nats_server, models_dir, BATCH_SIZE="4"),
    ):
        early = await derived(nats_client, 15)
        first.send_signal(signal.SIGKILL)
        found = early + await derived(nats_client, total - 15)
        await asyncio.sleep(0.5)
        state = (await nats_client.jetstream().stream_info(subjects.DERIVED_STREAM)).state
    assert sorted(origin.event_sequence for origin, _ in found) == list(range(1, total + 1))
    assert state.last_seq == total, "a repeated answer is dropped by its id"
    assert len({row["memory_id"] for row in primary(found)}) == total


async def test_an_event_can_be_asked_for_again(
    nats_server: NatsServer, nats_client: Client, models_dir: Path
) -> None:
    """The reply equals the published message; a request for another model is refused."""
    publisher = Publisher(nats_client.jetstream())
    await publisher.publish_event(said(1, "When are you going to Lisbon?"))
    await publisher.publish_event(said(2, "Next April, with my sister."))
    await nats_client.jetstream().publish("helix.v1.events.acme.s.message", b"{}")
    with worker(nats_server, models_dir):
        answered = {origin.event_sequence: (origin, rows) for origin, rows in await derived(nats_client, 3)}
        for sequence, (origin, rows) in answered.items():
            reply = await request_derivation(nats_client, "memories", sequence=sequence, model=origin.model)
            assert reply.made_with
            again, found = edges.decode(reply.body)
            assert (again, found.to_pylist()) == (origin, rows.to_pylist())
        with pytest.raises(TemporaryError, match="ingest has model"):
            await request_derivation(nats_client, "memories", sequence=1, model="another@1")
        with pytest.raises(TemporaryError, match="no longer in the log"):
            await request_derivation(nats_client, "memories", sequence=99)


async def test_lifecycle_events_are_left_to_the_writer(
    nats_server: NatsServer, nats_client: Client, models_dir: Path
) -> None:
    """Consolidation reads a forget; ingest gives a message for the document before it only."""
    publisher = Publisher(nats_client.jetstream())
    await publisher.publish_event(
        DocumentEvent(event_id="d", tenant_id="acme", document_id="doc", title="T", body="Some text.")
    )
    await publisher.publish_event(ForgetEvent(event_id="f", tenant_id="acme", of_document="doc"))
    await publisher.publish_event(said(3, "last one"))
    with worker(nats_server, models_dir):
        found = await derived(nats_client, 2)
    assert sorted(origin.event_sequence for origin, _ in found) == [1, 3]
    assert next(o.replaces_document for o, _ in found if o.event_sequence == 1) == "doc"


def test_unknown_setting_stops_the_start(models_dir: Path) -> None:
    """Exit code 78 and the name of the variable."""
    environ = os.environ | {"HELIX_INGEST_MODELS_DIR": str(models_dir), "HELIX_INGEST_LANS": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "helix_ingest"], env=environ, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 78
    assert b"HELIX_INGEST_LANS: unknown setting" in done.stderr


async def test_two_copies_make_the_rows_that_one_makes_and_no_cache_changes_a_bit(
    nats_server: NatsServer, nats_client: Client, models_dir: Path, tmp_path: Path
) -> None:
    """Rows, contexts and vectors are the same bytes for every copy, with and without caches."""
    turns = [said(n, f"turn {n % 17} of {n % 5}, long ago", session=f"s{n % 3}") for n in range(60)]

    async def rows(server: NatsServer, client: Client, copies: int, **settings: str) -> dict[int, Any]:
        for turn in turns:
            await Publisher(client.jetstream()).publish_event(turn)
        with contextlib.ExitStack() as stack:
            for _ in range(copies):
                stack.enter_context(worker(server, models_dir, COPIES=str(copies), **settings))
            found = await derived(client, len(turns))
        return {
            origin.event_sequence: batch.drop_columns(["created_at", "occurred_at"]).to_pylist()
            for origin, batch in found
        }

    both = await rows(nats_server, nats_client, 2)
    with NatsServer(tmp_path / "other") as other:
        client = await connect(other.url, name="test")
        await provision(client.jetstream())
        one = await rows(other, client, 1, VECTOR_CACHE_BYTES="0", TURN_CACHE_BYTES="0", BATCH_SIZE="1")
        await client.close()
    assert both == one
