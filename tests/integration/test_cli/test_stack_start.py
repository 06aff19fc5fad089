"""Stacks that are started and ended by a test: in the foreground, while commands wait, after a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record, start_time
from helix_cli.stack.ports import is_free
from helix_cli.stack.stack import Stack
from helix_shared.machine.processes import module_command
from tests.hostile_folder import HostileFolder, environment_of_children

from .running import run

pytestmark = pytest.mark.integration


def two_free_ports() -> int:
    """The first of two neighbouring free ports, below those that the kernel hands out."""
    return next(
        port for port in range(10_000 + os.getpid() % 4_000, 14_990) if is_free(port) and is_free(port + 1)
    )


def test_what_is_published_while_services_start_is_waited_for(tmp_path: Path, models_dir: Path) -> None:
    """`publish --wait` waits for the services, `recall` for the first generation.

    Two copies of a worker are two processes, and the record names all of them.
    """
    text = "The spare key hangs behind the boiler."
    ports = {"HELIX_INGEST_METRICS_PORT": str(two_free_ports())}
    copies = {"ingest": 2, "doc2query": 0, "kg": 0, "forwarder": 0}
    with Stack(
        tmp_path, nats_port=0, query_port=0, copies=copies, models=models_dir, environment=ports
    ) as young:
        record = read_record(young.home)
        assert record is not None
        names = ["nats", "ingest-1", "ingest-2", "consolidation-1", "query-1"]
        assert list(record.pids) == [child.name for child in young.processes] == names
        assert run(tmp_path, "publish", "--session", "s", "--text", text)[0] == 0
        code, out, err = run(tmp_path, "recall", "where is the spare key?")
        assert (code, text in out) == (0, True), err
        code, out, err = run(tmp_path, "publish", "--session", "s", "--text", text, "--wait")
        assert (code, "recallable in generation" in out) == (0, True), err
        assert all(child.ended() is None for child in young.processes)


def test_up_runs_in_the_foreground_and_drains_on_sigterm(tmp_path: Path, models_dir: Path) -> None:
    """It prints the addresses and when it is ready; no process and no record remains.

    The folder that it is started in is somebody else's: no process of it runs what lies there.
    """
    hostile = HostileFolder(tmp_path / "checkout")
    (tmp_path / "models").symlink_to(models_dir)
    command = [
        *module_command("helix_cli", "up"),
        *("--home", str(tmp_path), "--port", "0", "--nats-port", "0"),
    ]
    environment = environment_of_children() | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=hostile.path)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("ready in"):
            break
    record = read_record(HomeFolder.at(tmp_path))
    assert record is not None
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=60)
    told = "".join(lines)
    assert process.returncode == 0
    for part in (record.nats_url, record.query_address, record.gateway_url, str(tmp_path / "data"), "model "):
        assert part
        assert part in told
    assert rest.endswith("stopped\n")
    assert "killed" not in rest
    assert hostile.ran == []
    assert read_record(HomeFolder.at(tmp_path)) is None
    assert [name for name, pid in record.pids.items() if start_time(pid) == record.start_times[name]] == []


@pytest.mark.long
def test_processes_of_a_killed_up_are_ended_by_the_next_one(tmp_path: Path, models_dir: Path) -> None:
    """Two NATS servers on one store would damage it."""
    program = (
        "import os, signal, sys; from pathlib import Path; from helix_cli.stack.stack import Stack\n"
        "Stack(Path(sys.argv[1]), nats_port=0, query_port=0, models=Path(sys.argv[2])).start()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path), str(models_dir)], check=False)
    record = read_record(HomeFolder.at(tmp_path))
    assert record is not None
    assert [name for name, pid in record.pids.items() if start_time(pid) == record.start_times[name]] == list(
        record.pids
    )
    said: list[str] = []
    with Stack(tmp_path, nats_port=0, query_port=0, models=models_dir, say=said.append) as again:
        again.wait_ready()
        alive = [name for name, pid in record.pids.items() if start_time(pid) == record.start_times[name]]
    assert alive == []
    assert sum("left over" in line for line in said) == len(record.pids)
