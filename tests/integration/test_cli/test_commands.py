"""Commands against a real NATS server, mostly without a query service."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import grpc
import pytest
from nats.js import JetStreamContext, api
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_consolidation.delivery.leading.lease import Lease
from helix_ingest.extraction.score import event_times
from helix_memory import events, subjects
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.calendar_days import dates_of

pytestmark = pytest.mark.integration

NO_QUERY = ["--query", "127.0.0.1:1"]


def run(*arguments: str | Path, text: str = "", tenant: str = "acme") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    runner = CliRunner(env={"COLUMNS": "140", "HELIX_TENANT": tenant})
    result = runner.invoke(app, [str(a) for a in arguments], input=text)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def nats(nats_server: NatsServer) -> str:
    """Address of a provisioned server."""
    code, out, _ = run("provision", "--nats", nats_server.url)
    assert code == 0
    assert "stream HELIX_EVENTS created" in out
    return nats_server.url


def on(url: str, work: Callable[[JetStreamContext], object]) -> object:
    """Run `work` with a JetStream of its own."""

    async def connected() -> object:
        client = await connect(url, name="test")
        try:
            return await work(client.jetstream())  # type: ignore[misc]  # every work here is a coroutine
        finally:
            await client.close()

    return asyncio.run(connected())


def stored(url: str) -> list[events.Event]:
    """Every event of the stream in order."""

    async def read(jetstream: JetStreamContext) -> list[events.Event]:
        state = (await jetstream.stream_info(subjects.EVENTS_STREAM)).state
        found = [await jetstream.get_msg(subjects.EVENTS_STREAM, n + 1) for n in range(state.last_seq)]
        return [events.parse_event(message.data or b"") for message in found]

    result = on(url, read)
    assert isinstance(result, list)
    return result


def message(session: str, number: int) -> str:
    """A line without event id."""
    return json.dumps(
        {
            "kind": "message",
            "tenant_id": "acme",
            "session_id": session,
            "role": "user",
            "text": f"no {number}",
        }
    )


def test_provisioning_twice_changes_nothing(nats: str) -> None:
    """The second run changes nothing."""
    code, out, _ = run("provision", "--nats", nats, "--json")
    assert code == 0
    assert "stream HELIX_EVENTS up to date" in json.loads(out)


def test_publishing_before_provisioning_says_what_to_do(nats_server: NatsServer) -> None:
    """The error comes before any event is sent."""
    code, _, err = run("publish", "--text", "hi", "--nats", nats_server.url)
    assert code == 1
    assert "helix provision" in err


def test_one_event_from_options_is_acknowledged(nats: str) -> None:
    """The command prints its sequence in the stream."""
    code, out, _ = run("publish", "--session", "s1", "--text", "We chose Postgres.", "--nats", nats)
    assert (code, out) == (0, "published 1, duplicates 0, refused 0, last sequence 1\n")
    (event,) = stored(nats)
    assert isinstance(event, events.MessageEvent)
    assert (event.tenant_id, event.text) == ("acme", "We chose Postgres.")
    assert event.occurred_at is not None


def test_a_published_event_carries_the_offset_of_this_machine(
    nats: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ingest resolves "yesterday" by it, here in New York."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert run("publish", "--text", "I went to the dentist yesterday.", "--nats", nats)[0] == 0
    finally:
        monkeypatch.undo()
        time.tzset()
    (event,) = stored(nats)
    assert event.occurred_at is not None
    there = event.occurred_at.astimezone(ZoneInfo("America/New_York"))
    assert event.occurred_at.utcoffset() == there.utcoffset()
    times = event_times(event, "I went to the dentist yesterday.", event.occurred_at)
    assert times.start is not None
    assert dates_of(times.start, times.end, UTC) == (there.date() - timedelta(days=1), there.date())


def test_publishing_a_file_twice_changes_nothing(nats: str, tmp_path: Path) -> None:
    """The second time every event is a duplicate, with the sequence of the first."""
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(message(f"s{n % 7}", n) for n in range(100)))
    first = json.loads(run("publish", file, "--json", "--nats", nats)[1])
    second = json.loads(run("publish", file, "--json", "--nats", nats)[1])
    assert first.pop("seconds") > 0
    assert first == {"published": 100, "duplicates": 0, "refused": [], "last_sequence": 100}
    assert (second["published"], second["duplicates"], second["last_sequence"]) == (0, 100, 100)
    assert len(stored(nats)) == 100


def test_a_sessions_order_in_the_stream_is_its_order_in_the_file(nats: str, tmp_path: Path) -> None:
    """300 events of three sessions, 64 in flight."""
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(message(f"s{n % 3}", n) for n in range(300)))
    assert run("publish", file, "--nats", nats)[0] == 0
    said = [event for event in stored(nats) if isinstance(event, events.MessageEvent)]
    for session in ("s0", "s1", "s2"):
        numbers = [int(event.text[3:]) for event in said if event.session_id == session]
        assert numbers == sorted(numbers)
        assert len(numbers) == 100


def test_bad_lines_are_reported_and_the_others_published(nats: str) -> None:
    """From standard input; the exit code is 1 when a line is refused."""
    text = "\n".join([message("s", 1), "{torn", message("s", 2), '{"kind": "message", "role": "user"}'])
    code, out, err = run("publish", "-", "--nats", nats, text=text, tenant="")
    assert code == 1
    assert out.startswith("published 2, duplicates 0, refused 2")
    assert "stdin:2: line: no JSON" in err
    assert "stdin:4: tenant_id: is missing" in err


def test_strict_publishes_nothing_when_one_line_is_bad(nats: str) -> None:
    """All or none."""
    code, _, err = run("publish", "-", "--strict", "--nats", nats, text=f"{message('s', 1)}\n{{torn\n")
    assert code == 1
    assert "published nothing: 1 of 2 lines" in err
    assert stored(nats) == []


def test_waiting_without_a_query_service_exits_3_after_publishing(nats: str) -> None:
    """The outcome of publishing is printed first."""
    code, out, err = run(
        "publish", "--text", "hi", "--wait", "--wait-seconds", "1", "--nats", nats, *NO_QUERY
    )
    assert code == 3
    assert out.startswith("published 1")
    assert "127.0.0.1:1" in err


def test_importing_a_folder_twice_changes_nothing(nats: str, tmp_path: Path) -> None:
    """A dry run counts the same and publishes nothing."""
    (tmp_path / "a.md").write_text("# A\n\ntext\n")
    (tmp_path / "b.md").write_text("# B\n\ntext\n")
    code, out, _ = run("import", tmp_path, "--dry-run", "--nats", nats)
    assert code == 0
    assert "2 document events" in out
    assert stored(nats) == []
    first, second = (run("import", tmp_path, "--json", "--nats", nats) for _ in range(2))
    assert "published before" not in first[2]
    assert "published before and change nothing; a document that was deleted since" in second[2]
    counts = [json.loads(out) for _, out, _ in (first, second)]
    assert [(c["published"], c["duplicates"]) for c in counts] == [(2, 0), (0, 2)]


def test_status_shows_streams_and_names_the_part_that_is_down(nats: str) -> None:
    """NATS answers, the query service does not."""
    run("publish", "--text", "hi", "--nats", nats)
    code, out, _ = run("status", "--nats", nats, *NO_QUERY)
    assert code == 3
    assert "HELIX_EVENTS" in out
    assert "no answer from the query service at 127.0.0.1:1" in out
    code, out, _ = run("status", "--json", "--nats", nats, *NO_QUERY)
    report = json.loads(out)
    (log,) = (row for row in report["nats"]["streams"] if row["name"] == "HELIX_EVENTS")
    assert (log["messages"], log["last_sequence"]) == (1, 1)
    (ingest,) = (row for row in report["nats"]["consumers"] if row["name"] == "ingest")
    assert ingest["pending"] == 1
    assert (report["lag"], report["dead_letters"]) == (None, 0)


class Serving(recall_pb2_grpc.RecallServiceServicer):
    """A query service that serves a generation."""

    def GetStatus(  # noqa: N802  gRPC's name
        self, request: recall_pb2.GetStatusRequest, context: grpc.ServicerContext
    ) -> recall_pb2.GetStatusResponse:
        """Return a status."""
        del request, context
        return recall_pb2.GetStatusResponse(generation=1)


@pytest.fixture
def query() -> Iterator[str]:
    """Address of a query service."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(Serving(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


def test_status_ends_with_3_while_no_process_is_the_writer(nats_server: NatsServer, query: str) -> None:
    """All services answer, but without a writer no event becomes recallable."""
    on(nats_server.url, lambda jetstream: provision(jetstream, lease_seconds=0.5))
    code, out, err = run("status", "--nats", nats_server.url, "--query", query)
    assert (code, "writer no process has the lease" in out) == (3, True), out + err
    assert "waiting for one" in err


def test_status_names_a_stream_whose_settings_differ_and_ends_with_3(nats: str, query: str) -> None:
    """Until somebody provisions again; status itself changes nothing."""

    async def change(jetstream: JetStreamContext) -> None:
        await Lease.acquire(await jetstream.key_value(streams.LEASES), lock_identity="test")
        config = (await jetstream.stream_info(subjects.EVENTS_STREAM)).config
        await jetstream.update_stream(replace(config, discard=api.DiscardPolicy.OLD))

    on(nats, change)
    for _ in range(2):
        code, out, _ = run("status", "--nats", nats, "--query", query)
        assert code == 3
        assert "differs HELIX_EVENTS: discard is old, wanted new; run `helix provision`" in out
    assert run("provision", "--nats", nats)[0] == 0
    code, out, err = run("status", "--nats", nats, "--query", query)
    assert (code, "differs" in out) == (0, False), (out, err)


def test_status_waits_for_the_writer_that_comes_next(nats: str, query: str) -> None:
    """Between two holders of the lease, as after a restart, the command waits and ends with 0."""

    async def take(jetstream: JetStreamContext) -> None:
        await (await jetstream.key_value(streams.LEASES)).create(streams.writer_key(0), b"{}")

    timer = threading.Timer(0.3, on, (nats, take))
    timer.start()
    code, out, err = run("status", "--nats", nats, "--query", query)
    timer.join()
    assert (code, "writer ok" in out) == (0, True), out + err


def test_status_without_nats_still_ends_with_a_report() -> None:
    """Both parts are down; both are named."""
    code, out, _ = run("status", "--json", "--nats", "nats://127.0.0.1:1", *NO_QUERY)
    report = json.loads(out)
    assert code == 3
    assert "nats://127.0.0.1:1" in report["nats"]["problem"]
    assert report["query"]["problem"]


def test_dead_letters_are_listed_with_their_reason_and_shown_whole(nats: str) -> None:
    """Newest first; --before pages back; a number that is not there is an error."""

    async def bury(jetstream: JetStreamContext) -> None:
        for number in (1, 2, 3):
            await Publisher(jetstream).publish(
                subjects.dlq_subject("ingest", "acme"),
                b'{"kind": "message"}' if number < 3 else b"\xff\x00",
                message_id=f"dlq:{number}",
                headers={
                    subjects.REASON_HEADER: f"reason {number}",
                    subjects.STREAM_HEADER: subjects.EVENTS_STREAM,
                    subjects.SEQUENCE_HEADER: str(10 + number),
                },
            )

    assert run("dlq", "ls", "--nats", nats)[1] == "no dead letters\n"
    on(nats, bury)
    letters = json.loads(run("dlq", "ls", "--json", "--nats", nats)[1])
    assert [(x["sequence"], x["reason"], x["stream_sequence"]) for x in letters] == [
        (3, "reason 3", 13),
        (2, "reason 2", 12),
        (1, "reason 1", 11),
    ]
    assert (letters[0]["service"], letters[0]["tenant_id"]) == ("ingest", "acme")
    assert "reason 2" in run("dlq", "ls", "--nats", nats)[1]
    older = json.loads(run("dlq", "ls", "--before", "3", "--limit", "1", "--json", "--nats", nats)[1])
    assert [x["sequence"] for x in older] == [2]
    assert '"kind": "message"' in run("dlq", "show", "1", "--nats", nats)[1]
    assert "2 B of binary data" in run("dlq", "show", "3", "--nats", nats)[1]
    code, _, err = run("dlq", "show", "4", "--nats", nats)
    assert code == 1
    assert "no dead letter 4" in err
