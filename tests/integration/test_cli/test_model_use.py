"""Changing the model of a running Helix: killed midway, continued, and recalled from all the time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_cli.commands.common import model_use
from helix_cli.home.record import read_record
from helix_cli.model_build.description import Description
from helix_cli.model_build.importing import Origin, import_folder
from helix_cli.rebuilding import rebuild, source
from helix_cli.stack.stack import Stack
from helix_memory.recall.v1.recall_pb2 import RecallRequest, Scope
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import SIGNALS, current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.encoders.store import default_model

from .running import run

pytestmark = [pytest.mark.integration, pytest.mark.long]

SAID = (
    "We picked Postgres for the ledger, Priya has run it for years.",
    "The release train leaves every second Tuesday at ten.",
    "Lukas moved to Porto in March and works from there.",
    "The spare key of the lab hangs behind the boiler.",
    "Our invoices go out on the last Friday of a month.",
    "Yes, the migration of the search index is done.",
    "I am allergic to hazelnuts, please order without them.",
    "What was the name of that ramen place again?",
)
MIDWAY = """
import os, signal, sys
from pathlib import Path
from helix_cli.rebuilding import rebuild, replay

replay.EVENTS_AT_ONCE, rebuild.CLOSE_ENOUGH = 8, 4
replay.CHECKPOINT_SECONDS = replay.CHECKPOINT_SHARE = 0.0
checkpoint = replay.Replay.checkpoint

async def then_die(self):
    await checkpoint(self)
    if self.sequence >= 24:
        os.kill(os.getpid(), signal.SIGKILL)

if "--die" in sys.argv:
    sys.argv.remove("--die")
    replay.Replay.checkpoint = then_die
from helix_cli.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, encoder_folder: Callable[..., Path]
) -> Iterator[Stack]:
    """A stack with models of its own: MiniLM in use, and a small one beside it."""
    tmp_path = tmp_path_factory.mktemp("models")
    built = default_model(models_dir)
    shutil.copytree(built, tmp_path / "home/models" / built.name)
    small = encoder_folder(tmp_path / "tiny", Description(pooling="mean", max_tokens=96))
    import_folder(
        small, tmp_path / "home/models", Origin("tiny", "a test", keep_fp32=True), existing="refuse"
    )
    quick = {"HELIX_CONSOLIDATION_ACCESS_INTERVAL_SECONDS": "0.2"}
    with Stack(tmp_path / "home", nats_port=0, query_port=0, environment=quick) as running:
        running.wait_ready()
        yield running


def _publish(home: Path, numbers: range) -> None:
    file = home / "said.jsonl"
    fields = {"kind": "message", "tenant_id": "acme", "role": "user", "speaker": "Mira"}
    events = [
        {**fields, "session_id": f"s{n % 3}", "event_id": f"e{n}", "text": f"{SAID[n % len(SAID)]} ({n})"}
        for n in numbers
    ]
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    code, out, err = run(home, "publish", str(file), "--wait")
    assert code == 0, out + err


def _memories(home: Path) -> dict[str, Any]:
    """Text, whether it is hidden, and accesses of every memory of the current generation, by id."""
    number = current_number(home / "data")
    assert number is not None
    signals = Signals.open(folder_of(home / "data", number) / SIGNALS)
    return {
        row["memory_id"]: (
            row["text"],
            bool(signals.hidden[row["ordinal"]]),
            int(signals.access_count[row["ordinal"]]),
        )
        for row in signals.records(signals.latest(len(signals)))
    }


def _manifest(home: Path) -> Manifest:
    number = current_number(home / "data")
    assert number is not None
    return Manifest.read(folder_of(home / "data", number))


def _noted(name: str, call: Callable[..., Any], steps: list[str]) -> Callable[..., Any]:
    """`call`, which notes its name, and whether it runs beside the event loop."""

    def noting(*args: Any) -> Any:
        is_main = threading.current_thread() is threading.main_thread()
        steps.append(name if is_main else f"{name} in a thread")
        return call(*args)

    return noting


class Asking(threading.Thread):
    """Asks the same question all the time, and keeps how many memories each answer has."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self._over = threading.Event()
        self.answers: list[int] = []
        self.failures: list[str] = []

    def run(self) -> None:
        """Ask until `stop`."""
        request = RecallRequest(scope=Scope(tenant_id="acme"), query="where does the spare key hang?")
        with RecallClient(self._address, call_seconds=5.0) as client:
            while not self._over.wait(0.05):
                try:
                    self.answers.append(len(client.recall(request).memories))
                except Exception as error:  # noqa: BLE001  the test wants to know of any
                    self.failures.append(repr(error))

    def stop(self) -> None:
        """End, and wait for the end."""
        self._over.set()
        self.join()


def test_a_home_without_memories_changes_its_model(stack: Stack) -> None:
    """The empty generation becomes one of the other model, and `helix up` does not go back to the first."""
    home = stack.home.root
    assert _manifest(home).counts.signals == 0
    first = _manifest(home).model
    for name in ("tiny", first.name):
        code, out, err = run(home, "models", "use", name)
        assert (code, f"{name} is in use: 0 memories" in out) == (0, True), out + err
        assert _manifest(home).model.name == name
        assert default_model(home / "models").name == name
    assert _manifest(home).model == first


def test_the_model_changes_beside_what_is_served(stack: Stack) -> None:
    """Killed midway it continues; nothing is lost or shown again, and every recall is answered."""
    home = stack.home.root
    _publish(home, range(40))
    found = json.loads(run(home, "recall", "where does the spare key hang?", "--json")[1])
    gone = found["memories"][0]["memory"]["memory_id"]
    assert run(home, "memory", "forget", gone)[0] == 0
    served = found["memories"][1]["memory"]["memory_id"]
    deadline = time.monotonic() + 60
    while not _memories(home)[served][2]:
        assert time.monotonic() < deadline, "accesses are not counted"
        time.sleep(0.1)
    before = _memories(home)

    asking = Asking(stack.query_address)
    asking.start()
    command = [sys.executable, "-c", MIDWAY, "models", "use", "tiny", "--home", str(home), "--every", "0.1"]
    killed = subprocess.run([*command, "--die"], capture_output=True, text=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert _manifest(home).model.name != "tiny"
    _publish(home, range(40, 48))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    asking.stop()

    assert done.returncode == 0, done.stderr
    assert "continues after event 24" in done.stderr
    assert " left" in done.stderr
    assert "tiny is in use" in done.stdout
    assert _manifest(home).model.name == "tiny"
    assert not asking.failures
    assert min(asking.answers) > 0
    after = _memories(home)
    assert after[gone][1]
    assert after[served][2] >= before[served][2]
    assert {one: after[one][0] for one in before} == {one: before[one][0] for one in before}
    assert len(after) > len(before)

    _publish(home, range(48, 52))
    asked = json.loads(run(home, "recall", "when do invoices go out?", "--json")[1])
    assert "invoices" in asked["memories"][0]["memory"]["text"]
    status = json.loads(run(home, "status", "--json")[1])
    assert (status["query"]["model"], status["lag"], status["nats"]["writer"]["problem"]) == ("tiny", 0, "")
    assert not (home / "data/rebuilding/generations").exists()
    for command in (["status"], ["models", "list"]):
        told = " ".join(run(home, *command)[1].split())
        assert "left out: query adapter (`helix-lab adapter`), share of the channels" in told
    assert "relevance" not in asked["memories"][0]


def test_what_is_made_again_is_what_the_workers_had_made(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --again and the same model: the same memories, links and relations, and no access is forgotten."""
    home = stack.home.root
    name = default_model(stack.models).name
    _publish(home, range(60, 84))
    assert run(home, "memory", "correct", next(iter(_memories(home))), "The key hangs in the hall.")[0] == 0
    vault = "The vault opens with xyzzyplugh42."
    assert run(home, "publish", "--session", "v", "--text", vault, "--wait")[0] == 0
    erased = next(one for one, row in _memories(home).items() if row[0] == vault)
    erase = {"kind": "erase", "event_id": "gone", "tenant_id": "acme", "memory_ids": [erased]}
    (home / "erase.jsonl").write_text(json.dumps(erase))
    assert run(home, "publish", str(home / "erase.jsonl"), "--wait")[0] == 0
    before, made = _manifest(home), _memories(home)
    assert erased not in made
    # everything is applied while the workers are held, after the stores were maintained
    monkeypatch.setattr("helix_cli.rebuilding.rebuild.CLOSE_ENOUGH", 1_000_000)
    assert "in use already" in run(home, "models", "use", name)[1]
    assert _manifest(home).origin == before.origin
    steps: list[str] = []
    for place, step in ((source, "last_event_sequence"), (rebuild, "maintain_now"), (model_use, "held")):
        monkeypatch.setattr(place, step, _noted(step, getattr(place, step), steps))
    with monkeypatch.context() as other_shell:
        other_shell.setenv("HELIX_INGEST_PIECE_TOKENS", "90")
        code, out, err = run(home, "models", "use", name, "--again")
        assert code != 0
        assert "HELIX_INGEST_PIECE_TOKENS" in out + err
    assert not steps
    code, out, err = run(home, "models", "use", name, "--again")
    assert code == 0, out + err
    # what arrives during the maintenance, which is beside the event loop, is not left for the hold
    assert steps == [
        "last_event_sequence",
        "maintain_now in a thread",
        "last_event_sequence",
        "held",
        "last_event_sequence",
    ]
    after = _manifest(home)
    # the erased memory had an ordinal; where it is known to be erased it gets none
    counts = before.counts.model_copy(
        update={"signals": before.counts.signals - 1, "nodes": before.counts.nodes - 1}
    )
    assert (after.model, after.digest, after.counts) == (before.model, before.digest, counts)
    assert (after.parent, after.origin) == (0, after.generation)
    files = [path for path in folder_of(home / "data", after.generation).rglob("*") if path.is_file()]
    assert not [path for path in files if b"xyzzyplugh42" in path.read_bytes()]
    again = _memories(home)
    assert {one: row[:2] for one, row in again.items()} == {one: row[:2] for one, row in made.items()}
    # the forwarder may have brought more meanwhile
    assert all(again[one][2] >= made[one][2] for one in made)


def test_processes_start_again_when_the_command_that_held_them_is_killed(stack: Stack) -> None:
    """The request for a hold names a process: where it ends, ingest and consolidation go on."""
    home = stack.home.root
    _publish(home, range(2))
    hold = (
        "import sys, time, pathlib; from helix_cli.stack.hold import held; "
        "from helix_cli.home.folder import HomeFolder\n"
        "with held(HomeFolder.at(pathlib.Path(sys.argv[1]))): print('held', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", hold, str(home)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    record = read_record(stack.home)
    assert record is not None
    assert record.is_held
    assert {name.partition("-")[0] for name in record.start_times if record.start_times[name]} >= {"query"}
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    _publish(home, range(2, 4))
