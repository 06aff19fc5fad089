"""One stack with a real OTLP receiver: spans, logs and audit records, and no text in any of them."""

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import grpc
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory import subjects, trace_context
from helix_memory.client import Helix
from helix_memory.errors import HelixError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient

from .running import PATIENCE_SECONDS, SpanSeen
from .running import Helix as Stacked

pytestmark = pytest.mark.integration

PUBLISHED: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
RECALLED: Final = "00-1bf7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
STAGES: Final = ("embed", "route", "retrieve", "fuse", "rank", "rerank", "diversify", "pack")
WORKERS: Final = ("ingest", "doc2query", "kg")
CANARIES: Final = ("zanzipurple", "quexlibrium", "vorpalgnome", "mizzenquark", "tarngloop", "glimsnoffle")
"""Words of texts, questions, metadata values, refused events and broken ones."""


def _event(**fields: Any) -> bytes:
    """Valid but for its fields, so that each of them is what is refused."""
    return json.dumps({"event_id": uuid4().hex, "tenant_id": "acme", **fields}).encode()


BROKEN: Final = (
    b"mizzenquark is no JSON",
    _event(kind="message", role="mizzenquark", text="tarngloop"),
    _event(kind="message", role="user", mizzenquark="tarngloop"),
    _event(kind="memory", text="tarngloop", type="glimsnoffle"),
    _event(kind="memory", text="a", salience="tarngloop"),
    _event(kind="memory", text="tarngloop", valid_from="mizzenquark"),
    _event(kind="memory", text="tarngloop", tags=["glimsnoffle", 7]),
)
_ANN: Final = recall_pb2.Scope(tenant_id="acme", user_id="ann")
REFUSED: Final = (
    recall_pb2.RecallRequest(scope=_ANN, query="vorpalgnome " * 100_000),
    recall_pb2.RecallRequest(scope=_ANN, query="vorpalgnome", ranking_profile="mizzenquark"),
    recall_pb2.RecallRequest(
        scope=_ANN, query="vorpalgnome", filter=recall_pb2.Filter(types=["glimsnoffle"])
    ),
    recall_pb2.RecallRequest(scope=recall_pb2.Scope(tenant_id="mizzen quark"), query="vorpalgnome"),
)


@pytest.fixture(scope="module")
def client(helix: Stacked) -> Iterator[Helix]:
    """The client of a program, as user ann."""
    addresses = (helix.stack.nats_url, helix.stack.query_address)
    nats, query = (int(address.rpartition(":")[2]) for address in addresses)
    with Helix(tenant="acme", user="ann", nats_port=nats, query_port=query) as made:
        yield made


def test_one_trace_leads_from_publication_to_the_generation(helix: Stacked, client: Helix) -> None:
    """Each consumer's span hangs on that of whoever sent it the message; the last names the generation."""
    with trace_context.within(PUBLISHED):
        written = client.remember("The zanzipurple boat lies in harbour seven.", tags=["quexlibrium"])

    def found(service: str, operation: str) -> list[SpanSeen]:
        spans = helix.receiver.of(PUBLISHED)
        return [s for s in spans if (s.service, s.name.split()[0]) == (f"helix-{service}", operation)]

    helix.receiver.wait(lambda: len(found("consolidation", "process")) == len(WORKERS))
    for worker in WORKERS:
        [processed], [sent] = found(worker, "process"), found(worker, "send")
        assert sent.parent == processed.span_id
        expected = PUBLISHED.split("-")[2] if worker == "ingest" else found("ingest", "send")[0].span_id
        assert processed.parent == expected
        assert processed.attributes["messaging.consumer.group.name"] == worker
        assert processed.attributes["helix.event.sequence"] == written.sequence
    recallable = found("consolidation", "process")
    assert {s.parent for s in recallable} == {found(w, "send")[0].span_id for w in WORKERS}
    assert all(int(s.attributes["helix.generation"]) >= 1 for s in recallable)
    assert {s.attributes.get("gen_ai.operation.name") for s in recallable} == {"upsert_memory", None}


def test_a_recall_is_a_server_span_with_the_search_and_its_stages(helix: Stacked, client: Helix) -> None:
    """The trace comes in the metadata of the call; stages hang on the search of their tenant."""
    client.remember("The ferry leaves from pier two.", wait=True)
    with trace_context.within(RECALLED):
        found = client.recall("where does the ferry leave from, vorpalgnome?")
    assert found.memories
    helix.receiver.wait(lambda: any(s.parent == RECALLED.split("-")[2] for s in helix.receiver.of(RECALLED)))
    spans = {s.name: s for s in helix.receiver.of(RECALLED)}
    server = spans["helix.recall.v1.RecallService/Recall"]
    assert (server.attributes["rpc.system"], server.attributes["rpc.grpc.status_code"]) == ("grpc", 0)
    search = spans["search_memory acme"]
    assert search.parent == server.span_id
    assert search.attributes["gen_ai.memory.store.id"] == "acme"
    assert search.attributes["helix.memories"] == len(found.memories)
    assert {spans[stage].parent for stage in STAGES} == {search.span_id}


def test_no_text_question_or_value_is_in_a_span_or_a_log(helix: Stacked, client: Helix) -> None:
    """Refused and broken events and requests included; names of tenants and users are ids."""
    client.remember("A tarngloop is a zanzipurple.", tags=["quexlibrium"], title="glimsnoffle", wait=True)
    client.recall("what is a vorpalgnome?", types=["semantic"])
    refused = {_publish(helix.stack.nats_url, broken) for broken in BROKEN}
    with RecallClient(helix.stack.query_address) as raw:
        for request in REFUSED:
            with pytest.raises(HelixError):
                raw.recall(request)
    with grpc.insecure_channel(helix.stack.query_address) as channel:
        call = channel.unary_unary("/helix.recall.v1.RecallService/Recall")
        with pytest.raises(grpc.RpcError, match="INVALID_ARGUMENT"):
            call(b"\x12\x0bmizzenquark\xff")
    client.remember("The last one.", wait=True)
    letters = helix.stack.home.logs
    assert _mentions(b"dead letter", letters.glob("*")), "control: the refusals are in the logs"
    helix.receiver.wait(lambda: any(_is_refused(span) for span in helix.receiver.seen))
    assert [s for s in helix.receiver.seen if _is_refused(s) and "error.type" in s.attributes] == []
    helix.receiver.wait(lambda: refused <= _failed(helix.receiver.seen))
    exported = b"".join(helix.receiver.raw)
    assert b"HELIX_DERIVED" in exported, "control: names that spans have are found"
    leaks = [word for word in CANARIES if word.encode() in exported]
    leaks += [
        f"{word} in {name}" for word in CANARIES for name in _mentions(word.encode(), letters.glob("*"))
    ]
    assert leaks == []


def test_the_audit_stream_tells_who_did_what_and_holds_no_text(helix: Stacked, client: Helix) -> None:
    """Recalls, lists and refusals of the query service, erasures and exports of commands."""
    stack = helix.stack
    note = client.remember("A tarngloop to be erased.", wait=True)
    client.recall("which tarngloop?")
    with RecallClient(stack.query_address) as raw, pytest.raises(HelixError):
        raw.recall(REFUSED[2])
    runner = CliRunner(env={"HELIX_HOME": str(stack.home.root)})
    erase = ["erase", "--yes", note.memory_id, "--tenant", "acme", "--user", "ann", "--no-wait"]
    assert runner.invoke(app, erase).exit_code == 0
    exported = stack.home.root / "acme.jsonl"
    assert runner.invoke(app, ["export", "--tenant", "acme", "--out", str(exported)]).exit_code in (0, 3)

    def records(*options: str) -> list[dict[str, Any]]:
        listed = runner.invoke(app, ["audit", "ls", "--json", "--limit", "1000", *options])
        assert listed.exit_code == 0, listed.output
        found: list[dict[str, Any]] = json.loads(listed.stdout)
        return found

    def recalls() -> list[dict[str, Any]]:
        """Those that gave the note; earlier tests of this stack recalled, too."""
        return [one for one in records() if one["call"] == "Recall" and note.memory_id in one["memory_ids"]]

    expected = {("Recall", "OK"), ("Recall", "INVALID_ARGUMENT"), ("cli.erase", "OK")}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not recalls() or not expected <= {
        (one["call"], one["outcome"]) for one in records("--tenant", "acme")
    }:
        assert time.monotonic() < deadline, records()
        time.sleep(0.1)
    every = records("--since", "1h")
    [recalled] = recalls()
    assert (recalled["user_id"], recalled["tenant_id"], recalled["outcome"]) == ("ann", "acme", "OK")
    assert recalled["count"] == len(recalled["memory_ids"])
    [erased] = records("--who", "os:")[:1]
    assert (erased["call"], erased["memory_ids"]) == ("cli.erase", [note.memory_id])
    assert records("--tenant", "other") == []
    assert [word for word in CANARIES if word in json.dumps(every)] == []


def _failed(seen: Sequence[SpanSeen]) -> set[int]:
    """Sequences of the events that ingest refused, as its spans say."""
    failed = [s for s in seen if s.service == "helix-ingest" and "error.type" in s.attributes]
    return {int(s.attributes["helix.event.sequence"]) for s in failed}


def _is_refused(span: SpanSeen) -> bool:
    return span.attributes.get("rpc.grpc.status_code") == grpc.StatusCode.INVALID_ARGUMENT.value[0]


def _mentions(word: bytes, files: Iterable[Path]) -> list[str]:
    return [file.name for file in files if word in file.read_bytes()]


def _publish(nats_url: str, body: bytes) -> int:
    async def send() -> int:
        client = await connect(nats_url, name="test")
        try:
            kind = "memory" if b"memory" in body else "message"
            subject = subjects.event_subject("acme", "", kind)
            publisher = Publisher(client.jetstream())
            return (await publisher.publish(subject, body, message_id=f"acme:{hash(body)}")).sequence
        finally:
            await client.close()

    return asyncio.run(send())
