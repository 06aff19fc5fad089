"""Generations that crash or hang the process that opens them first; a real service, real processes."""

import os
import re
import resource
import signal
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from helix_query.generations.prober import CrashedError, Prober
from helix_shared.broker.server import free_port
from helix_shared.errors import CorruptArtifactError, TemporaryError
from tests.hostile_folder import HostileFolder, environment_of_children

from .test_generations import marker, serves

pytestmark = pytest.mark.integration


def probe_process(service: Any) -> int:
    """Process id of the prober of a service."""
    for path in Path(f"/proc/{service.process.pid}/task").glob("*/children"):
        for pid in path.read_text().split():
            if b"generations.probe_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return int(pid)
    return 0


def stopped(pid: int) -> None:
    """Stop a process, and wait until it is: whatever it is asked then, it is asked while it probes."""
    os.kill(pid, signal.SIGSTOP)
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)


def test_a_sound_generation_passes_and_a_damaged_one_is_refused_with_its_reason(corpus: Any) -> None:
    """The same process probes one generation after the other."""
    prober = Prober()
    try:
        for number in (1, 2):
            corpus.add([marker(number) | {"entities": ["Marker"]}])
            corpus.publish()
            assert prober.check(corpus.root, number) > 0
        first = prober.pid
        corpus.add([marker(3)])
        corpus.publish()
        (table,) = (corpus.root / "generations" / f"{3:012d}").rglob("*.manifest")
        half = table.read_bytes()[: table.stat().st_size // 2]
        table.unlink()
        table.write_bytes(half)
        with pytest.raises(CorruptArtifactError, match=r"."):
            prober.check(corpus.root, 3)
        assert prober.check(corpus.root, 2) > 0
        assert prober.pid == first
    finally:
        prober.close()


def test_the_prober_imports_nothing_from_the_current_folder(
    corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the environment of the service; the service may be started in a folder of somebody else."""
    corpus.add([marker(1)])
    corpus.publish()
    hostile = HostileFolder(tmp_path / "checkout")
    monkeypatch.chdir(hostile.path)
    monkeypatch.setenv("PYTHONPATH", environment_of_children()["PYTHONPATH"])
    prober = Prober()
    try:
        assert prober.check(corpus.root, 1) > 0
    finally:
        prober.close()
    assert hostile.ran == []


def test_a_probe_that_is_short_of_file_handles_says_nothing_about_the_generation(corpus: Any) -> None:
    """As with a full disk: it is no damage, so the generation is tried again later."""
    corpus.add([marker(1)])
    corpus.publish()
    prober = Prober()
    try:
        prober.start()
        limits = resource.prlimit(prober.pid, resource.RLIMIT_NOFILE)
        assert prober.check(corpus.root, 1) > 0
        before = resource.prlimit(prober.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        with pytest.raises(TemporaryError, match="no readable manifest"):
            prober.check(corpus.root, 1)
        resource.prlimit(prober.pid, resource.RLIMIT_NOFILE, before)
        assert prober.check(corpus.root, 1) > 0
    finally:
        prober.close()


def test_an_empty_generation_passes(corpus: Any) -> None:
    """There is no memory to search with."""
    corpus.publish()
    prober = Prober()
    try:
        assert prober.check(corpus.root, 1) > 0
    finally:
        prober.close()


def test_a_probe_that_hangs_is_ended_in_time(corpus: Any) -> None:
    """Twice, then the generation is refused."""
    corpus.add([marker(1)])
    corpus.publish()
    prober = Prober(seconds=1.0)
    ended = threading.Event()

    def stop_each() -> None:
        seen = 0
        while not ended.is_set():
            if prober.pid not in {0, seen}:
                seen = prober.pid
                os.kill(seen, signal.SIGSTOP)
            time.sleep(0.005)

    stopping = threading.Thread(target=stop_each)
    stopping.start()
    try:
        with pytest.raises(CrashedError, match="hangs for 1 s"):
            prober.check(corpus.root, 1)
    finally:
        ended.set()
        stopping.join()
        prober.close()


@pytest.mark.long
def test_a_generation_that_kills_the_prober_is_refused_and_the_last_good_one_serves_on(
    corpus: Any, start: Any
) -> None:
    """The service lives, names and counts it, and serves the next one; a single death refuses nothing."""
    port = free_port()
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_METRICS_PORT=str(port))
    service.wait_for(serves(1))
    first = probe_process(service)
    stopped(first)
    corpus.add([marker(2)])
    corpus.publish()
    os.kill(first, signal.SIGSEGV)
    os.kill(first, signal.SIGCONT)
    service.wait_for(serves(2))
    assert "prober_ended" in service.log.read_text() or probe_process(service) != first

    ended = threading.Event()

    def kill_each() -> None:
        while not ended.is_set():
            if pid := probe_process(service):
                os.kill(pid, signal.SIGSEGV)
            time.sleep(0.01)

    killing = threading.Thread(target=kill_each)
    killing.start()
    try:
        corpus.add([marker(3)])
        corpus.publish()
        service.wait_for(lambda at: "generation_refused" in at.log.read_text())
    finally:
        ended.set()
        killing.join()
    assert service.recall("release marker").generation == 2
    assert service.health() == "SERVING"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        metrics = reply.read().decode()
    assert re.search(r'helix_generations_rejected_total\{reason="crash"\} 1\.0', metrics)
    assert "ends with SIGSEGV" in service.log.read_text()
    corpus.add([marker(4)])
    corpus.publish()
    service.wait_for(serves(4))
