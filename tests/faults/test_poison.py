"""10,000 events, one in a hundred refused: the others are applied, and all are after the repair.

Among them messages that no release could read: no JSON, an unknown kind, an unknown field, too large.
"""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path

import pytest
from nats.errors import Error as NatsError
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory import limits, subjects
from helix_memory.transport.connection import connect
from helix_memory.transport.polling import poll
from tests.integration.test_cli.running import INGEST_FAULT

from .conftest import Report

pytestmark = pytest.mark.faults

EVENTS = 10_000
EVERY = 100
MOST_ATTEMPTS = 10
SUBJECT = subjects.event_subject("acme", "-", "memory")
UNREADABLE = {
    "cut": b'{"kind": "memory", "tenant_id": "acme", "event_id": "cu',
    "kind": b'{"kind": "dream", "tenant_id": "acme", "event_id": "k", "text": "sheep"}',
    "field": b'{"kind": "memory", "tenant_id": "acme", "event_id": "f", "text": "x", "colour": "red"}',
}
REASONS = ("event", "kind", "colour")
"""What is wrong in each of them."""
FAULT = f"""{INGEST_FAULT}
    if "WITHOUT_LETTERS" in os.environ:
        from helix_shared.broker import settlement

        async def store_nothing(*_, **__):
            return None

        settlement.store_dead_letter = store_nothing
"""


def run(home: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and standard output of a command."""
    result = CliRunner(env={"HELIX_TENANT": "acme", "HELIX_HOME": str(home)}).invoke(app, list(arguments))
    return result.exit_code, result.stdout


def memories(home: Path) -> int:
    """Memories that the query service serves."""
    return int(json.loads(run(home, "status", "--json")[1])["query"]["memories"])


def until_memories(home: Path, wanted: int) -> None:
    """Wait until there are so many, and not one more."""
    deadline = time.monotonic() + 1_200
    while (found := memories(home)) < wanted:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert found == wanted


def letters(home: Path) -> Counter[str]:
    """The reasons of the dead letters, up to the field; none was tried more often than the rules allow."""
    listed = json.loads(run(home, "dlq", "ls", "--limit", "1000", "--json")[1])
    assert all(letter["attempts"] <= MOST_ATTEMPTS for letter in listed)
    return Counter(letter["reason"].partition(":")[0] for letter in listed)


async def publish_unreadable(url: str, count: int) -> None:
    """Publish `count` messages of each kind that is no event, past every check of a publisher."""
    client = await connect(url, name="poison")
    try:
        for number in range(count):
            for name, body in UNREADABLE.items():
                headers = {subjects.MSG_ID_HEADER: f"acme:{name}{number}"}
                await client.jetstream().publish(SUBJECT, body, headers=headers)
            with pytest.raises(NatsError):
                await client.jetstream().publish(SUBJECT, b" " * (limits.EVENT_BYTES + 1))
    finally:
        await client.close()


def write(file: Path, events: int) -> None:
    """Events of which one in `EVERY` is poison."""
    texts = [
        f"The {'mercury' if n % EVERY == 0 else 'oxygen'} tank {n} stands in hall {n}." for n in range(events)
    ]
    kind = {"kind": "memory", "tenant_id": "acme"}
    lines = [json.dumps(kind | {"event_id": f"e{n}", "text": text}) for n, text in enumerate(texts)]
    file.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.timeout(1_800)
def test_poison_is_dead_lettered_and_redriven_and_nothing_is_lost_or_doubled(
    tmp_path: Path, models_dir: Path, report: Report
) -> None:
    """Each letter has its reason; after the repair every event has exactly one memory."""
    (tmp_path / "fault").mkdir()
    (tmp_path / "fault" / "sitecustomize.py").write_text(FAULT)
    fault, home, file = tmp_path / "fault" / "on", tmp_path / "home", tmp_path / "events.jsonl"
    fault.touch()
    events = report.scaled(EVENTS, least=EVERY)
    poisoned = len(range(0, events, EVERY))
    write(file, events)
    environment = {"PYTHONPATH": str(fault.parent), "FAULT": str(fault)}
    with Stack(home, nats_port=0, query_port=0, models=models_dir, environment=environment) as stack:
        stack.wait_ready()
        assert run(home, "publish", str(file))[0] == 0
        unreadable = max(1, poisoned // len(UNREADABLE))
        asyncio.run(publish_unreadable(stack.nats_url, unreadable))
        until_memories(home, events - poisoned)
        refused = {"text": poisoned, **dict.fromkeys(REASONS, unreadable)}
        report.counts = {"events": events, "poisoned": poisoned, "unreadable": unreadable * len(UNREADABLE)}
        for _ in poll(120, every_seconds=0.5):
            if letters(home).total() == sum(refused.values()):
                break
        assert letters(home) == refused
        fault.unlink()
        mercury = ("--all", "--reason", "mercury", "--yes", "--json", "--wait-seconds", "300")
        code, out = run(home, "dlq", "redrive", *mercury)
        assert (code, {one["state"] for one in json.loads(out)}) == (0, {"processed"})
        assert letters(home) == dict.fromkeys(REASONS, unreadable)
        assert run(home, "dlq", "redrive", "--all", "--yes")[0] == 1, "no repair makes an event of them"
        assert letters(home) == dict.fromkeys(REASONS, unreadable)
        assert run(home, "dlq", "drop", "--all", "--yes")[0] == 0
        assert run(home, "dlq", "ls")[1] == "no dead letters\n"
        until_memories(home, events)
        assert run(home, "doctor")[0] == 0, "log and stores hold the same memories"
    report.figure = f"{events - poisoned} applied, {poisoned} dead-lettered and redriven, 0 lost"
    fault.touch()
    control, environment = tmp_path / "control", environment | {"WITHOUT_LETTERS": "1"}
    write(file, EVERY)
    with Stack(control, nats_port=0, query_port=0, models=models_dir, environment=environment) as stack:
        stack.wait_ready()
        assert run(control, "publish", str(file))[0] == 0
        until_memories(control, EVERY - 1)
        report.control(not letters(control), "without its letter a refused event cannot be redriven")
