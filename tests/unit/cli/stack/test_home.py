import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands.operating.up import parse_copies
from helix_cli.home import addresses
from helix_cli.home.addresses import Server, nats_server, query_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.leftovers import end_leftovers, leftovers
from helix_cli.home.lock import is_starting, locked
from helix_cli.home.record import RunRecord, read_record, remove_record, start_time, write_record
from helix_cli.security.folder import SecurityFolder
from helix_cli.stack import ports
from helix_cli.stack.ports import WantedPorts, choose_port, choose_ports, is_free, metrics_ports
from helix_cli.stack.services import checked_copies
from helix_memory.transport.credentials import CallCredentials, NatsCredentials
from helix_shared.errors import InvalidInputError, PermanentError, TemporaryError


def record(**changes: Any) -> RunRecord:
    """A run record."""
    return replace(RunRecord("nats://127.0.0.1:5", "127.0.0.1:6"), **changes)


def two_free_ports() -> int:
    """The first of two neighbouring free ports, below those that the kernel hands out."""
    return next(port for port in range(12_000, 14_990) if is_free(port) and is_free(port + 1))


def test_a_home_can_be_held_once(tmp_path: Path) -> None:
    """The error of the second start names the addresses of the first; afterwards the home is free again."""
    home = HomeFolder.at(tmp_path)
    with locked(home):
        write_record(home, record())
        with pytest.raises(PermanentError, match=r"already running .* nats://127.0.0.1:5"), locked(home):
            pass
    with locked(home):
        pass


def test_addresses_come_from_the_option_then_the_running_stack_and_from_nowhere_else(tmp_path: Path) -> None:
    """After `helix up --port 0` the other commands find it, and never another instance."""
    own = {"nats": os.getpid()}
    write_record(
        HomeFolder.at(tmp_path),
        record(pids=own, start_times={"nats": start_time(os.getpid())}, instance="mine"),
    )
    assert nats_server("", tmp_path) == Server("nats://127.0.0.1:5", "mine")
    assert query_server("", tmp_path) == Server("127.0.0.1:6", "mine")
    assert nats_server("nats://other:1", tmp_path) == Server("nats://other:1")
    assert query_server("other:1", tmp_path) == Server("other:1")
    remove_record(HomeFolder.at(tmp_path))
    assert read_record(HomeFolder.at(tmp_path)) is None
    for server in (nats_server, query_server):
        with pytest.raises(TemporaryError, match="nothing runs in this home"):
            server("", tmp_path)


def test_a_variable_replaces_one_file_of_a_secured_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's own token goes to the services of the home, which its CA proves; nowhere else."""
    folder = SecurityFolder.of(tmp_path)
    folder.root.mkdir()
    folder.state.touch()
    pids = {"nats": os.getpid()}
    times = {"nats": start_time(os.getpid())}
    write_record(HomeFolder.at(tmp_path), record(pids=pids, start_times=times, is_secured=True))
    assert query_server("", tmp_path).calls == folder.call_credentials()
    monkeypatch.setenv("HELIX_TOKEN_FILE", "/ana/token")
    monkeypatch.setenv("HELIX_NATS_CREDENTIALS", "/ana/nats")
    assert query_server("", tmp_path).calls == CallCredentials(
        token_file=Path("/ana/token"), ca_file=folder.ca
    )
    assert nats_server("", tmp_path).nats == NatsCredentials(Path("/ana/nats"), folder.ca)
    assert query_server("127.0.0.1:6", tmp_path).calls == CallCredentials(token_file=Path("/ana/token"))


def test_a_record_of_ended_processes_is_ignored(tmp_path: Path) -> None:
    """After a crash of the machine another instance may listen on the recorded ports."""
    write_record(HomeFolder.at(tmp_path), record(pids={"nats": os.getpid()}, start_times={"nats": "1"}))
    with pytest.raises(TemporaryError, match="nothing runs in this home"):
        nats_server("", tmp_path)


@contextmanager
def starting(home: HomeFolder) -> Iterator[None]:
    """Another thread holds the home, and nothing listens there yet."""
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(home):
            held.set()
            over.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(10)
        yield
    finally:
        over.set()
        thread.join()


def test_a_home_that_is_being_started_is_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first start builds a model before anything listens; a waiting command prints one note."""
    home = HomeFolder.at(tmp_path)
    mine = record(pids={"nats": os.getpid()}, start_times={"nats": start_time(os.getpid())})
    with starting(home):
        threading.Timer(0.3, write_record, (home, mine)).start()
        assert nats_server("", tmp_path).address == "nats://127.0.0.1:5"
    told = capsys.readouterr().err
    assert (told.count("\n"), "is starting in this home" in told) == (1, True)


def test_a_home_that_is_being_started_is_not_called_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`helix status` does not wait; the error of a command that waited says for how long."""
    home = HomeFolder.at(tmp_path)
    with starting(home):
        result = CliRunner(env={"HELIX_HOME": str(tmp_path)}).invoke(app, ["status"])
        assert (result.exit_code, "is starting in this home" in result.stderr) == (3, True)
        monkeypatch.setattr(addresses, "START_SECONDS", 0.2)
        with pytest.raises(TemporaryError, match=r"nothing listens yet after 0\.2 s"):
            query_server("", tmp_path)


def test_the_error_for_an_empty_home_names_all_options(tmp_path: Path) -> None:
    """Another home, or addresses, because containers have no home."""
    result = CliRunner(env={"HELIX_HOME": str(tmp_path)}).invoke(app, ["status"])
    assert result.exit_code == 3
    for way in ("helix up", "--home", "--nats", "--query", "HELIX_NATS_URL", "HELIX_RECALL_ADDRESS"):
        assert way in result.stderr


def test_commands_that_test_the_lock_neither_stop_a_start_nor_see_one(tmp_path: Path) -> None:
    """Two threads test the lock while another takes it again and again."""
    home = HomeFolder.at(tmp_path)
    with locked(home):
        assert is_starting(home)
    over, mistaken = threading.Event(), []

    def look() -> None:
        while not over.is_set():
            mistaken.append(is_starting(home) and not holds.is_set())
            time.sleep(0)

    holds = threading.Event()
    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            time.sleep(0)
        assert not any(mistaken)
        holds.set()
        for _ in range(100):
            with locked(home):
                pass
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_mistyped_home_is_not_created(tmp_path: Path) -> None:
    """A mistyped path is not created."""
    with pytest.raises(TemporaryError):
        nats_server("", tmp_path / "mistyped")
    assert not (tmp_path / "mistyped").exists()


def test_each_copy_of_a_worker_has_a_metrics_port_of_its_own() -> None:
    """The port of the service plus the index; a conflict names the variable and the process."""
    port = two_free_ports()
    environment = {"HELIX_INGEST_METRICS_PORT": str(port), "HELIX_KG_METRICS_PORT": "0"}
    assert metrics_ports({"ingest": 2, "kg": 2, "query": 1}, environment) == {
        "ingest-1": port,
        "ingest-2": port + 1,
    }
    clash = environment | {"HELIX_KG_METRICS_PORT": str(port + 1)}
    with pytest.raises(
        InvalidInputError, match=f"HELIX_KG_METRICS_PORT: gives kg-1 port {port + 1}.*ingest-2"
    ):
        metrics_ports({"ingest": 2, "kg": 1}, clash)
    with pytest.raises(InvalidInputError, match="gives ingest-2 port 65536"):
        metrics_ports({"ingest": 2}, {"HELIX_INGEST_METRICS_PORT": "65535"})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"gives ingest-1 port {number}, which is taken"):
            metrics_ports({"ingest": 1}, {"HELIX_INGEST_METRICS_PORT": str(number)})


def test_a_damaged_record_is_ignored(tmp_path: Path) -> None:
    """The home counts as empty."""
    home = HomeFolder.at(tmp_path)
    write_record(home, record())
    (home.run / "up.json").write_text('{"nats_url": "na')
    assert read_record(home) is None


def test_a_process_of_a_killed_run_is_recognised_by_id_and_start_time() -> None:
    """A process that has got the recorded id since is not ended."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        born = start_time(child.pid)
        assert leftovers(record(pids={"kg-1": child.pid}, start_times={"kg-1": born})) == {"kg-1": child.pid}
        assert leftovers(record(pids={"kg-1": child.pid}, start_times={"kg-1": "1"})) == {}
        with pytest.raises(PermanentError, match=str(child.pid)):
            leftovers(record(pids={"kg-1": child.pid}))
    finally:
        child.kill()
        child.wait()
    assert leftovers(record(pids={"kg-1": child.pid}, start_times={"kg-1": born})) == {}
    assert leftovers(record(pids={"kg-1": child.pid})) == {}


def test_a_copy_of_a_home_that_runs_knows_nothing_of_its_processes(tmp_path: Path) -> None:
    """`helix up` on the copy does not end them; a home that was moved keeps its own."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        mine = record(pids={"kg-1": child.pid}, start_times={"kg-1": start_time(child.pid)})
        write_record(HomeFolder.at(tmp_path / "home"), mine)
        shutil.copytree(tmp_path / "home", tmp_path / "copy")
        end_leftovers(HomeFolder.at(tmp_path / "copy"), say=lambda _: None)
        assert child.poll() is None
        with pytest.raises(TemporaryError, match="nothing runs in this home"):
            nats_server("", tmp_path / "copy")
        (tmp_path / "home").rename(tmp_path / "moved")
        assert nats_server("", tmp_path / "moved").address == mine.nats_url
    finally:
        child.kill()
        child.wait()


def test_ports_are_the_usual_one_the_wanted_one_or_any() -> None:
    """A taken usual port is replaced by any free one; a taken wanted port is an error."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_free(port)
        assert choose_port(None, usual=port, option="--port") != port
        with pytest.raises(InvalidInputError, match=f"port {port} is taken"):
            choose_port(port, usual=1, option="--port")
    assert choose_port(port, usual=1, option="--port") == port
    assert choose_port(None, usual=port, option="--port") == port
    assert choose_port(0, usual=port, option="--port") != port


def test_no_port_of_a_stack_is_chosen_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens on the first yet, so it looks free; a port that is wanted twice is refused."""
    drawn = iter([5, 5, 6, 5, 6, 7, 8])
    monkeypatch.setattr(ports, "free_port", lambda: next(drawn))
    copies = {"query": 1, "forwarder": 1, "deep": 0, "gateway": 1}
    found = choose_ports(WantedPorts(0, 0, 0), copies)
    assert (found.query, found.nats, found.access, found.gateway) == ((5,), 6, (7,), 8)
    free = two_free_ports()
    with pytest.raises(InvalidInputError, match="twice"):
        choose_ports(WantedPorts(free, free, 0), copies)


def test_copies_are_numbers_by_service() -> None:
    """Every service has one process by default; the writer and the query service never more."""
    assert parse_copies("ingest=2, kg=0") == {"ingest": 2, "kg": 0}
    assert parse_copies("") == {}
    ones = dict.fromkeys(("ingest", "doc2query", "kg", "consolidation", "query", "forwarder"), 1)
    ones |= {"extract": 0, "deep": 0, "gateway": 0}
    assert checked_copies({}) == ones
    assert checked_copies({"kg": 3}) == ones | {"kg": 3}
    for wrong in ({"consolidation": 2}, {"query": 2}, {"deep": 2}, {"kafka": 1}, {"kg": 99}):
        with pytest.raises(InvalidInputError):
            checked_copies(wrong)


def test_an_unknown_user_in_the_home_is_refused() -> None:
    """The shell leaves such a path as it is."""
    with pytest.raises(InvalidInputError, match="unknown user"):
        HomeFolder.at(Path("~nobody-has-this-name/x"))


def test_the_home_expands_the_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a quoted `--home ~/x` and in HELIX_HOME."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert HomeFolder.at(Path("~/x")).root == tmp_path / "x"
    assert os.path.isabs(HomeFolder.at(Path("relative")).root)  # noqa: PTH117  the rule under test


def test_what_a_killed_run_had_not_written_whole_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """Also secrets. What a process that runs is about to write stays."""
    home = HomeFolder.at(tmp_path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    folders = ("run", "data/nats", "security/nats", "cache")
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
        for pid in (ended.pid, os.getpid()):
            (tmp_path / folder / f".file.{pid}").touch()
    end_leftovers(home, say=lambda _: None)
    for folder in folders:
        assert [path.name for path in (tmp_path / folder).iterdir()] == [f".file.{os.getpid()}"]
