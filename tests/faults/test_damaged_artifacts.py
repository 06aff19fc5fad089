"""500 damaged generations, of every kind of file that Helix writes, offered to a running service."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory.identity import memory_id
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation import integrity
from helix_shared.artifacts.generation.folders import SIGNALS, current_number, folder_of
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.broker.server import free_port
from helix_shared.errors import CorruptArtifactError

from .conftest import Report

pytestmark = pytest.mark.faults

FULL_CASES = 500


def run(home: Path, *arguments: str) -> None:
    """A command that must end with 0."""
    environment = {"HELIX_TENANT": "acme", "HELIX_HOME": str(home)}
    result = CliRunner(env=environment).invoke(app, list(arguments))
    assert result.exit_code == 0, result.output


def until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def renumber(folder: Path, number: int) -> None:
    """Give the manifest of a copied generation the number of its folder."""
    manifest = Manifest.read(folder).model_copy(update={"generation": number})
    (folder / MANIFEST_NAME).unlink()
    (folder / MANIFEST_NAME).write_bytes(manifest.sealed())


def numbered_copy(data: Path, number: int) -> None:
    """Generation 1 again under another number; unchanged files are hard links."""
    shutil.copytree(folder_of(data, 1), folder_of(data, number), copy_function=os.link)
    renumber(folder_of(data, number), number)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Path:
    """A data folder with one generation: memories of each kind, a correction, a forget, an erasure."""
    home = tmp_path_factory.mktemp("home")
    with Stack(home, nats_port=0, query_port=0, models=models_dir) as stack:
        stack.wait_ready()
        for n in range(5):
            run(home, "publish", "--event-id", f"e{n}", "--text", f"Anna keeps {n} bees in Kassel.", "--wait")
        wrong = f"memory_id={memory_id('acme', 'e1', 0)}"
        run(home, "publish", "--kind", "correct", "--set", wrong, "--text", "Anna keeps 9 bees.", "--wait")
        for kind, event in (("forget", "e2"), ("erase", "e3")):
            named = f'memory_ids=["{memory_id("acme", event, 0)}"]'
            run(home, "publish", "--kind", kind, "--set", named, "--wait")
    number = current_number(home / "data")
    assert number is not None
    folder = tmp_path_factory.mktemp("data")
    shutil.copytree(folder_of(home / "data", number), folder_of(folder, 1))
    renumber(folder_of(folder, 1), 1)
    (folder / "CURRENT").write_text("1\n")
    return folder


@pytest.fixture
def service(
    data: Path, models_dir: Path, tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """A query service on the folder, its address and its log."""
    address, log = f"127.0.0.1:{free_port()}", tmp_path / "query.log"
    environment = os.environ | {
        "HELIX_QUERY_DATA_DIR": str(data),
        "HELIX_QUERY_MODELS_DIR": str(models_dir),
        "HELIX_QUERY_CACHE_DIR": str(tmp_path / "cache"),
        "HELIX_QUERY_LISTEN": address,
        "HELIX_QUERY_POLL_SECONDS": "0.02",
    }
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "helix_query"], env=environment, stderr=out)
    yield process, address, log
    process.terminate()
    assert process.wait(20) == 0


def damage(folder: Path, name: str, other: str, dice: random.Random) -> str:
    """Damage one file in a way chosen by the dice; returns the way."""
    file = folder / name
    body, way = (
        file.read_bytes(),
        dice.choice(["truncated", "flipped", "missing", "a folder", "swapped", "longer"]),
    )
    replacement = (folder / other).read_bytes()
    file.unlink()
    if way == "a folder":
        file.mkdir()
    elif way != "missing":
        changed = bytearray(body or b"\0")
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        new = {
            "truncated": body[: dice.randrange(len(body) or 1)],
            "swapped": replacement,
            "longer": body + b"\0",
        }
        file.write_bytes(new.get(way, bytes(changed)) if new.get(way, b"") != body else body + b"\0")
    return way


def accepted_after_a_flip(data: Path, first: int, names: Iterable[str]) -> int:
    """How many generations are opened although a bit at the end of one of their files is flipped."""
    accepted = 0
    for number, name in enumerate(names, first):
        numbered_copy(data, number)
        file = folder_of(data, number) / name
        body = bytearray(file.read_bytes())
        if body:
            file.unlink()
            body[-1] ^= 1
            file.write_bytes(body)
            with contextlib.suppress(CorruptArtifactError, OSError, ValueError):
                manifest = integrity.verify(folder_of(data, number), verified=set())
                Generation.open(data, number, manifest=manifest).close()
                accepted += 1
    return accepted


def test_500_damaged_artifacts_are_refused_and_the_previous_generation_serves(
    data: Path,
    service: tuple[subprocess.Popen[bytes], str, Path],
    monkeypatch: pytest.MonkeyPatch,
    report: Report,
) -> None:
    """Each kind of file in turn; the service lives, answers, and serves a whole copy afterwards."""
    process, address, log = service
    names = sorted(
        str(p.relative_to(folder_of(data, 1))) for p in folder_of(data, 1).rglob("*") if p.is_file()
    )
    assert any("consolidation" in name for name in names)
    assert any("relations" in name for name in names)
    report.default_seed = 11
    dice, cases = random.Random(report.seed), report.scaled(FULL_CASES, least=len(names))
    with RecallClient(address, call_seconds=5.0) as client:

        def generation() -> int:
            assert process.poll() is None, log.read_text()[-2000:]
            return int(client.status().generation)

        until(lambda: log.exists() and "generation_served" in log.read_text())
        for case in range(cases):
            number = case + 2
            folder = folder_of(data, number)
            numbered_copy(data, number)
            name = names[case % len(names)]
            way = damage(folder, name, dice.choice(names), dice)
            (data / "CURRENT.new").write_text(f"{number}\n")
            (data / "CURRENT.new").replace(data / "CURRENT")
            until(lambda number=number: f'"generation": {number}, ' in log.read_text())
            refused = [
                json.loads(line)
                for line in log.read_text().splitlines()
                if f'"generation": {number}, ' in line
            ]
            report.counts = {"damaged": case + 1, "files": len(names)}
            assert refused[0]["event"] == "generation_refused", (name, way, refused)
            assert generation() == 1, (name, way)
            shutil.rmtree(folder)
        last = cases + 2
        numbered_copy(data, last)
        (data / "CURRENT").write_text(f"{last}\n")
        until(lambda: f'"generation": {last}, ' in log.read_text())
        assert '"event": "generation_served"' in log.read_text().splitlines()[-1]
    report.figure = f"{cases} of {cases} refused, the service lives, generation 1 served"
    monkeypatch.setattr(integrity, "_check", lambda *_: None)
    accepted = accepted_after_a_flip(data, last + 1, [name for name in names if name.startswith(SIGNALS)])
    report.counts["flipped bits accepted without checksums"] = accepted
    report.control(accepted > 0, "without checksums a flipped bit is not noticed")
