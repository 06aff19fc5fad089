"""`helix doctor` on a home that runs, on one that was broken on purpose, and on one where nothing runs."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nats.js import JetStreamContext, api

from helix_cli.doctor import process_checks, server_checks
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import RunRecord, read_record, write_record
from helix_cli.stack.stack import Stack
from helix_memory import subjects
from helix_memory.events import MemoryEvent
from helix_memory.identity import memory_id
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.artifacts.generation.folders import current_number, folder_of

from .running import run

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes long to answer, and is no fault of the home."""
    monkeypatch.setattr(process_checks, "READY_SECONDS", 120.0)
    monkeypatch.setattr(server_checks, "OPENING_SECONDS", 120.0)
    monkeypatch.setattr(server_checks, "CALL_SECONDS", 60.0)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """One stack; the last test of this file stops it."""
    home = tmp_path_factory.mktemp("home")
    (home / "models").symlink_to(models_dir)
    unused = {"doc2query": 0, "kg": 0, "forwarder": 0}
    running = Stack(home, nats_port=0, query_port=0, copies=unused)
    with running:
        running.wait_ready()
        assert (
            run(home, "publish", "--event-id", "first", "--text", "The kiln reaches 1200.", "--wait")[0] == 0
        )
        yield running


def examined(home: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], list[str]]:
    """Exit code, findings that are not ok, and what was repaired."""
    code, out, err = run(home, "doctor", "--json", *arguments)
    assert out, err
    report = json.loads(out)
    return code, [one for one in report["findings"] if one["level"] != "ok"], report["repaired"]


def on(url: str, work: Any) -> Any:
    """Run `work` with a client of its own."""

    async def connected() -> Any:
        client = await connect(url, name="test")
        try:
            return await work(client)
        finally:
            await client.close()

    return asyncio.run(connected())


def test_a_sound_home_that_runs_has_no_problem(stack: Stack) -> None:
    """Every check says what it has seen."""
    code, out, err = run(stack.home.root, "doctor")
    assert code == 0, out + err
    for said in (
        "every file has the sha256",
        "hold the same memories",
        "as provisioning wants them",
        "syncs",
    ):
        assert said in out, said
    assert "PROBLEM" not in out


def test_changed_streams_are_named_and_provisioned_again(stack: Stack) -> None:
    """The finding says what it means and what to do; --repair does it."""

    async def change(client: Any) -> None:
        jetstream: JetStreamContext = client.jetstream()
        config = (await jetstream.stream_info(subjects.EVENTS_STREAM)).config
        await jetstream.update_stream(replace(config, discard=api.DiscardPolicy.OLD))

    on(stack.nats_url, change)
    code, (found,), _ = examined(stack.home.root)
    assert code == 1
    assert (found["check"], found["found"]) == ("streams", "HELIX_EVENTS: discard is old, wanted new")
    assert "helix provision" in found["advice"]
    code, found_after, repaired = examined(stack.home.root, "--repair")
    assert (code, found_after, len(repaired)) == (0, [], 1)


def test_an_event_whose_result_was_lost_gets_its_memories_by_repair(stack: Stack) -> None:
    """Somebody took the event from ingest and answered it empty; events that give none are no finding."""
    home = stack.home.root
    record = read_record(stack.home)
    assert record is not None

    async def lose(client: Any) -> tuple[str, int]:
        jetstream: JetStreamContext = client.jetstream()
        publisher = Publisher(jetstream)
        thief = await jetstream.pull_subscribe_bind("ingest", subjects.EVENTS_STREAM)
        for number in range(10):
            event = MemoryEvent(
                event_id=f"lost-{number}", tenant_id="acme", text=f"Lathe {number} stands in bay 7."
            )
            sequence = (await publisher.publish_event(event)).sequence
            try:
                (message,) = await thief.fetch(1, timeout=2)
            except TimeoutError:
                continue  # ingest had asked for it before it was stopped
            await message.ack()
            break
        assert message.metadata.sequence.stream == sequence
        origin = edges.Origin("memories", "acme", event.event_id, "memory", sequence)
        body = edges.encode(origin, [], edges.memories_schema(384))
        headers = {subjects.EVENT_SEQUENCE_HEADER: str(sequence)}
        subject = subjects.derived_subject("memories", "acme")
        await publisher.publish(subject, body, message_id="lost", headers=headers)
        return event.event_id, sequence

    os.kill(record.pids["ingest-1"], signal.SIGSTOP)
    try:
        lost, sequence = on(stack.nats_url, lose)
    finally:
        os.kill(record.pids["ingest-1"], signal.SIGCONT)
    session = ("--kind", "session", "--session", "s", "--set", "phase=started")
    assert run(home, "publish", *session, "--wait")[0] == 0
    assert run(home, "memory", "show", memory_id("acme", lost, 0))[0] != 0
    code, findings, _ = examined(home)
    assert (code, [one["check"] for one in findings]) == (1, ["log"])
    assert findings[0]["found"] == f"event {sequence} of tenant acme has no memories"
    assert len(examined(home, "--repair")[2]) == 1
    assert run(home, "publish", "--text", "Something after it.", "--wait")[0] == 0
    assert run(home, "memory", "show", memory_id("acme", lost, 0))[0] == 0
    assert examined(home)[:2] == (0, [])


@pytest.mark.long
def test_a_stopped_home_with_a_damaged_generation_is_pointed_to_the_last_good_one(stack: Stack) -> None:
    """Offline: the damage is named; --repair moves CURRENT back, and the control is whole again."""
    home = stack.home.root
    for number in range(3):
        assert run(home, "publish", "--text", f"Drawer {number} is empty.", "--wait")[0] == 0
    stack.stop()
    data = stack.home.data
    newest = current_number(data)
    assert newest is not None
    code, findings, _ = examined(home)
    assert code == 0, findings
    victim = next(folder_of(data, newest).rglob("*.term"))
    body = bytearray(victim.read_bytes())
    victim.unlink()
    body[len(body) // 2] ^= 1
    victim.write_bytes(bytes(body))
    write_record(HomeFolder.at(home), RunRecord("nats://127.0.0.1:1", "127.0.0.1:1", pids={"kg-1": 1 << 22}))
    code, findings, _ = examined(home)
    assert code == 1
    by_check = {one["check"]: one for one in findings if one["level"] in {"problem", "warning"}}
    assert "another checksum" in by_check["generation"]["found"]
    assert "rebuild" in by_check["generation"]["advice"]
    assert "stale record" in by_check["run"]["found"]
    code, _, repaired = examined(home, "--repair")
    assert len(repaired) == 2, repaired
    good = current_number(data)
    assert good is not None
    assert good < newest
    assert code == 0


def test_a_home_that_does_not_exist_is_one_problem(tmp_path: Path) -> None:
    """It names the folder."""
    code, findings, _ = examined(tmp_path / "absent")
    assert code == 1
    assert "does not exist" in findings[0]["found"]
