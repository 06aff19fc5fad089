import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from helix_cli.home import (
    HomeFolder,
    RunRecord,
    birth,
    leftovers,
    locked,
    read_record,
    remove_record,
    write_record,
)
from helix_cli.options import nats_url, query_address
from helix_cli.ports import choose_port, is_free
from helix_cli.services import checked_copies
from helix_cli.up import parse_copies
from helix_shared.errors import InvalidInputError, PermanentError


def record(**changes: object) -> RunRecord:
    """A run record."""
    fields = {"nats_url": "nats://127.0.0.1:5", "query_address": "127.0.0.1:6", "pids": {}, **changes}
    return RunRecord.model_validate(fields)


def test_a_home_can_be_held_once(tmp_path: Path) -> None:
    """The second one is told where the first one listens; afterwards the home is free again."""
    home = HomeFolder.at(tmp_path)
    with locked(home):
        write_record(home, record())
        with pytest.raises(PermanentError, match=r"already running .* nats://127.0.0.1:5"), locked(home):
            pass
    with locked(home):
        pass


def test_addresses_come_from_the_option_then_the_running_stack_then_the_usual_port(tmp_path: Path) -> None:
    """So that after `helix up --port 0` the other commands still find it."""
    assert nats_url("", tmp_path) == "nats://127.0.0.1:4222"
    assert query_address("", tmp_path) == "127.0.0.1:7461"
    write_record(HomeFolder.at(tmp_path), record())
    assert (nats_url("", tmp_path), query_address("", tmp_path)) == ("nats://127.0.0.1:5", "127.0.0.1:6")
    assert nats_url("nats://other:1", tmp_path) == "nats://other:1"
    remove_record(HomeFolder.at(tmp_path))
    assert read_record(HomeFolder.at(tmp_path)) is None


def test_a_torn_record_is_no_record(tmp_path: Path) -> None:
    """It is only a convenience; commands fall back to the usual ports."""
    home = HomeFolder.at(tmp_path)
    write_record(home, record())
    (home.run / "up.json").write_text('{"nats_url": "na')
    assert read_record(home) is None


def test_a_process_of_a_killed_run_is_recognised_by_id_and_birth() -> None:
    """A process id that now belongs to somebody else is left alone."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        born = birth(child.pid)
        assert leftovers(record(pids={"kg-1": child.pid}, births={"kg-1": born})) == {"kg-1": child.pid}
        assert leftovers(record(pids={"kg-1": child.pid}, births={"kg-1": "1"})) == {}
        with pytest.raises(PermanentError, match=str(child.pid)):
            leftovers(record(pids={"kg-1": child.pid}))
    finally:
        child.kill()
        child.wait()
    assert leftovers(record(pids={"kg-1": child.pid}, births={"kg-1": born})) == {}
    assert leftovers(record(pids={"kg-1": child.pid})) == {}


def test_ports_are_the_usual_one_the_wanted_one_or_any() -> None:
    """A taken usual port is stepped aside; a taken wanted one is an error."""
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


def test_copies_are_numbers_by_service() -> None:
    """Everything runs once unless said otherwise; the writer and the listener never twice."""
    assert parse_copies("ingest=2, kg=0") == {"ingest": 2, "kg": 0}
    assert parse_copies("") == {}
    ones = {"ingest": 1, "doc2query": 1, "kg": 1, "consolidation": 1, "query": 1}
    assert checked_copies({}) == ones
    assert checked_copies({"kg": 3}) == ones | {"kg": 3}
    for wrong in ({"consolidation": 2}, {"query": 2}, {"kafka": 1}, {"kg": 99}):
        with pytest.raises(InvalidInputError):
            checked_copies(wrong)


def test_the_home_understands_the_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`--home ~/x` written with quotes, and HELIX_HOME."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert HomeFolder.at(Path("~/x")).root == tmp_path / "x"
    assert os.path.isabs(HomeFolder.at(Path("relative")).root)  # noqa: PTH117  the rule under test
