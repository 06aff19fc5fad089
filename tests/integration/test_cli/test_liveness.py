"""A stack whose processes are stopped and ended under load."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_cli.stack.children import ServiceChild
from helix_cli.stack.stack import Stack

from .running import asked, run, shorten_ack_wait, until

pytestmark = pytest.mark.integration

SILENT_SECONDS = 10.0
EVENTS = 400


@pytest.fixture(scope="module")
def said() -> list[str]:
    """What the stack says."""
    return []


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path, said: list[str]) -> Iterator[Stack]:
    """One stack for the tests of this file."""
    home = tmp_path_factory.mktemp("home")
    running = Stack(
        home, nats_port=0, query_port=0, models=models_dir, say=said.append, silent_seconds=SILENT_SECONDS
    )
    with running:
        running.wait_ready()
        yield running


def child(stack: Stack, name: str) -> ServiceChild:
    """A process of the stack."""
    found = next(one for one in stack.processes if one.name == name)
    assert isinstance(found, ServiceChild)
    return found


@pytest.mark.long
def test_a_stopped_process_is_killed_and_started_again(stack: Stack, said: list[str]) -> None:
    """It neither ends nor works, so it is no zombie for long."""
    before = child(stack, "kg-1").pid
    os.kill(before, signal.SIGSTOP)
    until(lambda: child(stack, "kg-1").pid != before)
    assert any(line.startswith("kg-1 does not answer for") for line in said)
    until(lambda: asked(child(stack, "kg-1").health_url.replace("healthz", "readyz")) == 200)


@pytest.mark.long
def test_sigterm_during_load_drains_in_time_and_nothing_is_lost_or_doubled(
    stack: Stack, said: list[str], tmp_path: Path
) -> None:
    """Each ends with code 0 within 15 s, is not ready before that, and every event has one memory."""
    home = stack.home.root
    shorten_ack_wait(stack.nats_url)
    count = json.loads(run(home, "status", "--json")[1])["query"]["memories"]
    lines = [
        {
            "kind": "memory",
            "tenant_id": "acme",
            "event_id": f"e-{n}",
            "text": f"Locker {n} has {n * 7} parts.",
        }
        for n in range(EVENTS)
    ]
    file = tmp_path / "load.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert run(home, "publish", str(file))[0] == 0
    seen = set[int]()
    for name in ("ingest-1", "consolidation-1"):
        process = child(stack, name)
        pid, url = process.pid, process.health_url.replace("healthz", "readyz")
        over = threading.Event()

        def look(url: str = url, over: threading.Event = over) -> None:
            while not over.is_set():
                seen.add(asked(url))

        looking = threading.Thread(target=look)
        looking.start()
        os.kill(pid, signal.SIGTERM)
        until(lambda name=name: any(line.startswith(f"{name} ended with exit code 0") for line in said))
        over.set()
        looking.join()
        until(lambda process=process, pid=pid: process.pid != pid)
    assert 503 in seen, "a process that ends says so before"
    wanted = count + EVENTS
    # what was on its way to a process that ended is delivered again after its ack wait
    until(lambda: json.loads(run(home, "status", "--json")[1])["query"]["memories"] >= wanted, seconds=150)
    status = json.loads(run(home, "status", "--json")[1])
    assert (status["query"]["memories"], status["dead_letters"]) == (wanted, 0)
