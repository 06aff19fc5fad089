"""10,000 events, one in a hundred refused: the others are applied, and all are after the repair."""

import json
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from tests.integration.test_cli.running import INGEST_FAULT

from .conftest import Report

pytestmark = pytest.mark.faults

EVENTS = 10_000
EVERY = 100
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


def letters(home: Path) -> list[str]:
    """The reasons of the dead letters."""
    listed = json.loads(run(home, "dlq", "ls", "--limit", "1000", "--json")[1])
    return [letter["reason"] for letter in listed]


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
        until_memories(home, events - poisoned)
        report.counts = {"events": events, "poisoned": poisoned}
        assert letters(home) == ["text: this release cannot read mercury"] * poisoned
        fault.unlink()
        code, out = run(home, "dlq", "redrive", "--all", "--yes", "--json", "--wait-seconds", "300")
        assert (code, {one["state"] for one in json.loads(out)}) == (0, {"processed"})
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
        report.control(letters(control) == [], "without its letter a refused event cannot be redriven")
