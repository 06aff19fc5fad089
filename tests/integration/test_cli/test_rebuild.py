"""`helix rebuild`: beside a running Helix, and where its data folder does not start; in this order."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from helix_cli.clients.broker import connected, run_async
from helix_cli.rebuilding.alone import own_server
from helix_cli.rebuilding.derive import Workers
from helix_cli.stack.stack import Stack
from helix_consolidation.stores.shard import Shard
from helix_memory import subjects
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.polling import poll
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import FORMAT_VERSION, MANIFEST_NAME, Manifest
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.broker import streams
from helix_shared.encoders.store import default_model
from helix_shared.errors import CorruptArtifactError

from .running import run

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

SAID = (
    "We picked Postgres for the ledger, Priya has run it for years.",
    "The release train leaves every second Tuesday at ten.",
    "Lukas moved to Porto in March and works from there.",
    "The spare key of the lab hangs behind the boiler.",
    "I live in Berlin.",
    "Yes, the migration of the search index is done.",
    "I moved, I live in Hamburg now.",
    "What was the name of that ramen place again?",
    "The release train leaves every second Thursday at nine.",
    "He says the boiler has to be replaced in May.",
)
ASKED = (
    "where does the spare key hang?",
    "when does the release train leave?",
    "which database did we pick, and who knows it?",
    "where do I live?",
    "who said that the boiler has to be replaced, and where does Lukas work?",
    "what should I order at the ramen place?",
)
KILLED = """
import os, signal
from helix_cli.rebuilding import rebuild, replay

replay.EVENTS_AT_ONCE, rebuild.CLOSE_ENOUGH = 8, 4
replay.CHECKPOINT_SECONDS = replay.CHECKPOINT_SHARE = 0.0
checkpoint = replay.Replay.checkpoint

async def then_die(self):
    await checkpoint(self)
    if self.sequence >= 16:
        os.kill(os.getpid(), signal.SIGKILL)

replay.Replay.checkpoint = then_die
from helix_cli.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """A stack that holds events of every kind; the test of a broken data folder stops it."""
    home = tmp_path_factory.mktemp("rebuild") / "home"
    built = default_model(models_dir)
    shutil.copytree(built, home / "models" / built.name)
    with Stack(home, nats_port=0, query_port=0) as running:
        running.wait_ready()
        _publish(home, _events())
        _change(home)
        yield running


def _events() -> list[dict[str, Any]]:
    turn = {"kind": "message", "tenant_id": "acme", "role": "user", "speaker": "Mira"}
    turns = [
        turn | {"session_id": f"s{n % 3}", "event_id": f"e{n}", "text": f"{SAID[n % len(SAID)]} ({n // 10})"}
        for n in range(30)
    ]
    page = {"kind": "document", "tenant_id": "acme", "document_id": "handbook", "title": "Handbook"}
    pages = [
        page | {"event_id": "d1", "body": "Invoices go out on the last Friday. Ask Jana for the seal."},
        page | {"event_id": "d2", "body": "Invoices go out on the first Monday. Ask Jana for the seal."},
    ]
    note = {"kind": "message", "tenant_id": "acme", "session_id": "v", "role": "user"}
    notes = [
        note | {"event_id": "v2", "text": "The blue van is sold."},
        note | {"event_id": "v3", "text": "The red van is sold."},
        note | {"event_id": "v1", "text": "The vault opens with xyzzyplugh42."},
    ]
    return [*turns, *pages, *notes]


def _change(home: Path) -> None:
    """Correct, forget, restore, undo, erase, and give feedback."""
    ids = {row["text"]: one for one, row in _memories(home).items()}
    # first, and to its end: what is decided while the log still has the event may rest on it
    assert (
        run(home, "erase", "--yes", ids["The vault opens with xyzzyplugh42."], "--wait-seconds", "120")[0]
        == 0
    )
    # by text: ordinals, and so the first row of any kind, follow the order of arrival
    key, closed = ids[f"{SAID[3]} (0)"], ids[f"{SAID[2]} (0)"]
    assert run(home, "memory", "correct", key, "The spare key hangs in the hall.")[0] == 0
    assert run(home, "memory", "forget", ids["The blue van is sold."])[0] == 0
    assert run(home, "memory", "forget", ids["The red van is sold."])[0] == 0
    assert run(home, "memory", "restore", ids["The red van is sold."])[0] == 0
    fields = {"tenant_id": "acme"}
    assert _memories(home)[closed]["superseded_by"], "a later turn says the same with another number"
    _publish(
        home,
        [
            fields | {"kind": "feedback", "event_id": "x2", "memory_ids": [key], "helpful": True},
            fields | {"kind": "undo", "event_id": "x3", "memory_id": closed},
            fields | {"kind": "forget", "event_id": "x4", "memory_ids": ["0" * 32]},
        ],
    )


def _publish(home: Path, events: list[dict[str, Any]]) -> None:
    file = home / f"{events[0]['event_id']}.jsonl"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    code, out, err = run(home, "publish", str(file), "--wait")
    assert code in (0, 1), out + err


def _current(home: Path) -> Path:
    number = current_number(home / "data")
    assert number is not None
    return folder_of(home / "data", number)


def _memories(home: Path) -> dict[str, Any]:
    reader = VectorReader(_current(home))
    ordinals = np.concatenate([batch for batch, _ in reader.all_vectors()])
    columns = ("memory_id", "text", "hidden", "superseded_by")
    rows = reader.take(np.sort(ordinals), columns).to_pylist()
    return {row["memory_id"]: {name: row[name] for name in columns} for row in rows}


def _rebuilt(home: Path, *options: str, expected: int = 0) -> dict[str, Any]:
    code, out, err = run(home, "rebuild", "--json", *options)
    assert code == expected, out + err
    found: dict[str, Any] = json.loads(out)["shards"][0]
    return found


def _answers(stack: Stack, as_of: datetime) -> list[bytes]:
    """What was known then, with every score and the packed context."""
    answers = []
    with grpc.insecure_channel(stack.query_address) as channel:
        recall = recall_pb2_grpc.RecallServiceStub(channel).Recall  # type: ignore[no-untyped-call]
        for question in ASKED:
            scope = recall_pb2.Scope(tenant_id="acme")
            request = recall_pb2.RecallRequest(scope=scope, query=question, never_skip=True, top_k=20)
            request.as_of.FromDatetime(as_of)
            reply = recall(request, timeout=30, wait_for_ready=True)
            kept = recall_pb2.RecallResponse(memories=reply.memories, context=reply.context)
            assert kept.memories
            answers.append(kept.SerializeToString(deterministic=True))
    return answers


def test_a_rebuild_beside_a_running_helix_says_the_same(stack: Stack) -> None:
    """Ids, texts, versions, vectors, links and relations are equal, while events are published.

    What was known before is answered byte for byte as before the rebuild.
    """
    home = stack.home.root
    before, then = _memories(home), datetime.now(UTC)
    answers = _answers(stack, then)
    lines = "".join(f"{json.dumps(_of_another_tenant(n))}\n" for n in range(8))
    command = [sys.executable, "-m", "helix_cli", "publish", "-", "--wait", "--home", str(home)]
    # they wait for the rebuild, which holds ingest
    command += ["--wait-seconds", "240"]
    publishing = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, stderr=subprocess.PIPE)
    assert publishing.stdin is not None
    publishing.stdin.write(lines)
    publishing.stdin.close()
    made = _rebuilt(home)
    assert publishing.wait(240) == 0

    parity = made["parity"]
    assert parity["total"], parity
    assert {section["name"] for section in parity["sections"]} >= {"memories", "texts", "hidden", "vectors"}
    compared = {section["name"]: section["compared"] for section in parity["sections"]}
    # events that are on their way are left out
    assert min(compared.values()) >= len(before) - parity["unfinished"], parity
    assert parity["unfinished"] <= 8
    links = next(section for section in parity["sections"] if section["name"] == "links")
    first, second = links["note"].removeprefix("digest ").split(", then ")
    assert first == second
    after = _memories(home)
    assert {one: after[one] for one in before} == before
    assert _answers(stack, then) == answers
    assert len({row["text"] for row in after.values() if "unrelated" in row["text"]}) == 8
    assert (Path(made["set_aside"]) / "CURRENT").is_file()
    assert run(home, "rebuild", "--discard-old")[0] == 0
    assert not (home / "data/replaced").exists()
    code, out, err = run(home, "rebuild", "--check", "--json")
    assert code == 0, out + err
    found = json.loads(run(home, "recall", "where does the spare key hang?", "--json")[1])
    assert "hall" in found["memories"][0]["memory"]["text"]


def test_a_rebuild_beside_services_of_others_pauses_the_writer_alone(stack: Stack, tmp_path: Path) -> None:
    """As in a container with the volumes of consolidation: nothing there is known of a `helix up`.

    Ingest goes on, so events are published until the end; each is there once.
    """
    home = stack.home.root
    before, pids = _memories(home), _pids(stack)
    other = tmp_path / "var"
    other.mkdir()
    (other / "data").symlink_to(home / "data")
    (other / "models").symlink_to(home / "models")
    lines = "".join(f"{json.dumps(_of_another_tenant(n))}\n" for n in range(100, 140))
    command = [sys.executable, "-m", "helix_cli", "publish", "-", "--wait", "--home", str(home)]
    publishing = subprocess.Popen([*command, "--wait-seconds", "240"], stdin=subprocess.PIPE, text=True)
    assert publishing.stdin is not None
    publishing.stdin.write(lines)
    publishing.stdin.close()
    addresses = ("--nats", stack.nats_url, "--query", stack.query_address)
    made = _rebuilt(other, "--pause-writer", *addresses)
    assert publishing.wait(240) == 0
    assert made["parity"]["total"], made["parity"]
    assert _pids(stack) == pids, "no process was stopped"
    # what ingest derived meanwhile is applied by the writer, which goes on from the new generation
    fresh = "The ferry to Bergen leaves at six. (unrelated)"
    event = {"kind": "message", "tenant_id": "elsewhere", "session_id": "n", "event_id": "after-beside"}
    _publish(home, [event | {"role": "user", "text": fresh}])
    after = _memories(home)
    assert {one: after[one] for one in before} == before
    texts = [row["text"] for row in after.values()]
    for number in range(100, 140):
        assert texts.count(_of_another_tenant(number)["text"]) == 1
    assert fresh in texts
    for _ in poll(120.0):
        if not any(_waiting(stack).values()):
            break
    assert not any(_waiting(stack).values()), "what was on its way at the pause is delivered again"
    assert run(home, "rebuild", "--discard-old")[0] == 0


def test_a_rebuild_beside_services_of_others_refuses_a_folder_that_is_not_theirs(
    stack: Stack, tmp_path: Path
) -> None:
    """Its generation would be served by nobody, and the consumers of the writer would begin after it."""
    (tmp_path / "models").symlink_to(stack.home.root / "models")
    code, out, err = run(tmp_path, "rebuild", "--pause-writer", "--nats", stack.nats_url)
    assert code != 0
    assert "must be the data folder of the writer" in out + err
    code, out, err = run(stack.home.root, "rebuild", "--pause-writer")
    assert code == 2
    assert "--pause-writer" in out + err


def test_an_erased_event_that_is_published_again_after_a_rebuild_stays_away(stack: Stack) -> None:
    """The rebuild takes the erased ids over: the log has lost the event."""
    home = stack.home.root
    body = {"kind": "message", "tenant_id": "acme", "session_id": "v", "role": "user", "event_id": "v1"}
    again = json.dumps(body | {"text": "The vault opens with xyzzyplugh42."}).encode()

    async def publish(url: str) -> None:
        async with connected(url) as jetstream:
            subject = subjects.event_subject("acme", "v", "message")
            await jetstream.publish(subject, again, headers={"Nats-Msg-Id": "acme:the window has passed"})

    _rebuilt(home, "--accept-differences")
    run_async(publish(stack.nats_url))
    _publish(home, [_of_another_tenant(40)])
    texts = {row["text"] for row in _memories(home).values()}
    assert _of_another_tenant(40)["text"] in texts
    assert not any("xyzzyplugh42" in text for text in texts)
    assert run(home, "rebuild", "--discard-old")[0] == 0


def _waiting(stack: Stack) -> dict[str, int]:
    """Messages that a consumer has not acknowledged."""

    async def ask() -> dict[str, int]:
        async with connected(stack.nats_url) as jetstream:
            infos = [await jetstream.consumer_info(one.stream, one.name) for one in streams.CONSUMERS]
            return {info.name: (info.num_pending or 0) + (info.num_ack_pending or 0) for info in infos}

    return run_async(ask())


def _pids(stack: Stack) -> dict[str, int]:
    return {child.name: child.pid for child in stack.processes}


def _of_another_tenant(number: int) -> dict[str, Any]:
    return {
        "kind": "message",
        "tenant_id": "other",
        "session_id": "o",
        "event_id": f"o{number}",
        "role": "user",
        "text": f"Something unrelated, number {number}.",
    }


def test_a_rebuild_from_the_archive_says_the_same(stack: Stack, tmp_path: Path) -> None:
    """As one from the log; what is published after the end of the archive comes from the log."""
    home, copy = stack.home.root, tmp_path / "archive"
    shutil.copytree(stack.home.data / "archive", copy)
    _publish(home, [_of_another_tenant(50)])
    _rebuilt(home, "--accept-differences")
    before = _memories(home)
    made = _rebuilt(home, "--from-archive", str(stack.home.data / "archive"))
    assert made["parity"]["total"], made["parity"]
    assert all(section["compared"] >= 30 for section in made["parity"]["sections"])
    assert _memories(home) == before
    assert any("number 50" in row["text"] for row in before.values())
    _rebuilt(home, "--from-archive", str(copy), "--accept-differences")
    assert _memories(home).keys() == before.keys()
    assert run(home, "rebuild", "--discard-old")[0] == 0


def test_an_archive_that_is_another_ones_or_damaged_replaces_nothing(stack: Stack, tmp_path: Path) -> None:
    """It is read whole and compared with its checksums and with the log before anything is made."""
    home = stack.home.root
    damaged, other = tmp_path / "damaged", tmp_path / "other"
    for copy in (damaged, other):
        shutil.copytree(stack.home.data / "archive", copy)
    segment = max(damaged.glob("*.log"), key=lambda path: path.stat().st_size)
    body = bytearray(segment.read_bytes())
    body[len(body) // 2] ^= 1
    segment.write_bytes(body)
    card = json.loads((other / "archive.json").read_text())
    (other / "archive.json").write_text(json.dumps(card | {"log": "2020-01-01T00:00:00+00:00"}))
    for folder, reason in ((damaged, "damaged"), (other, "archive of a log"), (tmp_path, "no archive")):
        code, _, err = run(home, "rebuild", "--from-archive", str(folder))
        assert (code, reason in " ".join(err.split())) == (1, True), err
    assert not (home / "data/replaced").exists()


def test_one_changed_row_is_a_difference_and_nothing_is_replaced(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control of the comparison: a question less, and it refuses, lists the memory, and ends with 1."""
    home, before = stack.home.root, Manifest.read(_current(stack.home.root)).origin
    whole = Workers.messages

    def without_questions(self: Workers, logged: Any, earlier: Any) -> Any:
        made = whole(self, logged, earlier)
        if logged.sequence != 2:
            return made
        memories, expansions, links = made
        return memories, self.derivations[0].without_rows(expansions.origin), links

    with monkeypatch.context() as patched:
        patched.setattr(Workers, "messages", without_questions)
        code, out, err = run(home, "rebuild", "--json")
    assert code == 1, out + err
    assert "--accept-differences" in err
    parity = json.loads(out)["shards"][0]["parity"]
    different = {one["name"]: one for one in parity["sections"] if one["different"]}
    assert set(different) == {"questions"}
    assert different["questions"]["different"] == 1
    assert "release train" in _memories(home)[different["questions"]["examples"][0]["memory_id"]]["text"]
    assert Manifest.read(_current(home)).origin == before
    # what was made with the change is not continued
    shutil.rmtree(stack.home.data / "rebuilding")
    code, out, err = run(home, "rebuild", "--check", "--json")
    assert code == 0, out + err


def test_a_generation_made_with_other_settings_says_so(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules and settings stand in the manifest, and are compared with what is installed."""
    home = stack.home.root
    manifest = Manifest.read(_current(home))
    assert set(manifest.made_with) >= {"memories", "expansions", "links", "consolidation", "vectors"}
    assert all(len(versions) == 1 for versions in manifest.made_with.values())
    monkeypatch.setattr("helix_ingest.memories_builder.VERSION", "99")
    monkeypatch.setattr("helix_cli.rebuilding.derive.VERSION", "99")
    code, out, _ = run(home, "rebuild", "--check", "--json")
    assert code == 1
    rows = {row["name"]: row for row in json.loads(out)["shards"][0]["made_with"]}
    assert [name for name, row in rows.items() if row["differs"]] == ["memories"]


def test_a_broken_data_folder_is_made_again_with_the_command_that_the_error_names(stack: Stack) -> None:
    """CURRENT damaged, killed midway, another format, no generations: nothing is lost, repeated or twice."""
    home = stack.home.root
    before = _memories(home)
    stack.stop()
    was = _ends(stack)

    (home / "data/CURRENT").write_text("12x")
    with pytest.raises(CorruptArtifactError, match="helix rebuild"):
        Stack(home, nats_port=0, query_port=0).start()
    command = [sys.executable, "-c", KILLED, "rebuild", "--home", str(home)]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    code, out, err = run(home, "rebuild")
    assert code == 0, out + err
    assert "left over from a run that was killed" in err
    assert "continues after event" in err
    assert "CURRENT holds no number" in out
    assert _memories(home) == before

    for break_it in (_of_another_format, _without_generations):
        break_it(home)
        made = _rebuilt(home)
        assert made["parity"]["not_compared"]
        assert _memories(home) == before
    assert _ends(stack) == was
    with Stack(home, nats_port=0, query_port=0) as again:
        again.wait_ready()
        found = json.loads(run(home, "recall", "where does the spare key hang?", "--json")[1])
        assert "hall" in found["memories"][0]["memory"]["text"]
        _publish(home, [_of_another_tenant(99)])
        status = json.loads(run(home, "status", "--json")[1])
        assert (status["lag"], status["nats"]["writer"]["problem"]) == (0, "")
        assert len(_memories(home)) == len(before) + 1
    now = _ends(stack)
    # one event with its three derived messages, no dead letter
    assert [now[name] - was[name] for name in was] == [1, 3, 0]


def _of_another_format(home: Path) -> None:
    path = _current(home) / MANIFEST_NAME
    path.chmod(0o644)
    stated = json.loads(path.read_text())
    path.unlink()
    path.write_text(json.dumps(stated | {"format_version": FORMAT_VERSION - 1, "of_that_format": 1}))
    for opened in (lambda: Shard.open(home / "data", maintain_every=8), lambda: Manifest.read(path.parent)):
        with pytest.raises(
            CorruptArtifactError, match=r"format \d+, this release reads \d+; `helix rebuild`"
        ):
            opened()


def _without_generations(home: Path) -> None:
    for name in ("generations", "live", "replaced"):
        shutil.rmtree(home / "data" / name)
    (home / "data/CURRENT").unlink()


def _ends(stack: Stack) -> dict[str, int]:
    """The last sequences of the streams."""
    names = (subjects.EVENTS_STREAM, subjects.DERIVED_STREAM, subjects.DLQ_STREAM)

    async def work(url: str) -> dict[str, int]:
        async with connected(url) as jetstream:
            return {name: (await jetstream.stream_info(name)).state.last_seq for name in names}

    with own_server(stack.home, say=print) as server:
        return run_async(work(server.address))


def test_events_that_no_worker_had_are_in_a_rebuild_and_come_to_no_worker_again(stack: Stack) -> None:
    """Without consumers' positions and with events that wait, the rebuild has all of it, dead letters too."""
    home = stack.home.root
    before, was = _memories(home), _ends(stack)
    bodies = [json.dumps(_of_another_tenant(200)).encode(), b'{"kind": "message"}']

    async def prepare(url: str) -> None:
        async with connected(url) as jetstream:
            for number, body in enumerate(bodies):
                subject = f"{subjects.ROOT}.events.other.o.message"
                await jetstream.publish(subject, body, headers={"Nats-Msg-Id": f"other:o20{number}"})
            await jetstream.delete_consumer(subjects.EVENTS_STREAM, streams.INGEST)

    with own_server(stack.home, say=print) as server:
        run_async(prepare(server.address))
    made = _rebuilt(home)
    assert made["parity"]["total"], made["parity"]
    assert len(_memories(home)) == len(before) + 1
    with Stack(home, nats_port=0, query_port=0) as again:
        again.wait_ready()
        assert json.loads(run(home, "status", "--json")[1])["lag"] == 0
    now = _ends(stack)
    assert [now[name] - was[name] for name in was] == [2, 0, 1]
