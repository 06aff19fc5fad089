"""Supervision of real processes that run modules written by the tests."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helix_cli.commands.common.options import TENANT_VARIABLE
from helix_cli.home.addresses import NATS_VARIABLE, QUERY_VARIABLE
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import RunRecord, start_time, write_record
from helix_cli.stack.children import ServiceChild, child_environment, last_line
from helix_cli.stack.hold import Holding, held, is_wanted, request_of, request_path
from helix_cli.stack.stack import SERVICES
from helix_cli.stack.supervisor import Supervisor, drain, restart_delay
from helix_shared.errors import CorruptArtifactError

SLEEPS = "import time\nprint('up', flush=True)\ntime.sleep(60)\n"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPS
Make = Callable[..., ServiceChild]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes children that run the given code, and ends them afterwards."""
    children: list[ServiceChild] = []

    def child(code: str, name: str = "child-1") -> ServiceChild:
        (tmp_path / f"module_{len(children)}.py").write_text(code)
        environment = dict(os.environ) | {"PYTHONPATH": str(tmp_path)}
        log = tmp_path / "logs" / f"{name}.log"
        children.append(ServiceChild(name, f"module_{len(children)}", environment=environment, log=log))
        return children[-1]

    yield child
    for made in children:
        made.kill()


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def supervised(*children: ServiceChild) -> tuple[Supervisor, list[str], list[int]]:
    """A running supervisor, its messages, and the number of changes."""
    said: list[str] = []
    changes: list[int] = []
    supervisor = Supervisor(say=said.append, changed=lambda: changes.append(1))
    for child in children:
        child.start()
    supervisor.watch(children)
    return supervisor, said, changes


def test_delays_double_from_half_a_second_to_thirty() -> None:
    """0.5, 1, 2, 4, 8, 16, then always 30."""
    assert [restart_delay(n) for n in (1, 2, 3, 4, 5, 6, 7, 500)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_a_killed_process_is_started_again_and_it_is_said(make: Make) -> None:
    """It has a new process id, and the run record is written again."""
    child = make(SLEEPS)
    supervisor, said, changes = supervised(child)
    first = child.pid
    child.kill()
    until(lambda: child.pid != first and child.ended() is None)
    until(lambda: changes)
    supervisor.release()
    assert said[0].startswith("child-1 was killed by SIGKILL (signal 9)")
    assert "starts again in 0.5 s" in said[0]


def test_a_process_that_keeps_ending_waits_longer_each_time(make: Make) -> None:
    """The message has its exit code, and the last line of its log as such."""
    supervisor, said, _ = supervised(make("raise SystemExit('no disk')"))
    until(lambda: sum("starts again in" in line for line in said) >= 2)
    supervisor.release()
    assert said[0].startswith("child-1 ended with exit code 1; last line of its log: no disk; starts again")
    waits = [line.partition("starts again in ")[2].partition(",")[0] for line in said if "no disk" in line]
    assert waits[:2] == ["0.5 s", "1 s"]


def test_a_process_that_refuses_its_settings_is_not_started_again(make: Make) -> None:
    """Exit code 78: it would refuse them again."""
    child = make("import sys\nprint('bad configuration: X', file=sys.stderr)\nsys.exit(78)")
    supervisor, said, _ = supervised(child)
    until(lambda: supervisor.refusal)
    pid = child.pid
    time.sleep(0.7)
    supervisor.release()
    assert "bad configuration: X" in supervisor.refusal
    assert (child.pid, said) == (pid, [])


def test_after_release_nothing_is_started_any_more(make: Make) -> None:
    """Otherwise the supervisor would restart what is drained."""
    child = make(SLEEPS)
    supervisor, _, _ = supervised(child)
    supervisor.release()
    pid = child.pid
    child.kill()
    time.sleep(0.8)
    assert child.pid == pid


def test_a_record_that_cannot_be_written_does_not_end_the_supervision(make: Make) -> None:
    """A full disk: what ends is started again all the same, and the record is written once there is room."""
    said: list[str] = []
    is_full, written = threading.Event(), threading.Event()
    is_full.set()

    def changed() -> None:
        if is_full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        written.set()

    child = make(SLEEPS)
    supervisor = Supervisor(say=said.append, changed=changed)
    child.start()
    supervisor.watch([child])
    for _ in range(2):
        first = child.pid
        child.kill()
        until(lambda first=first: child.pid != first and child.ended() is None)
    assert not written.is_set()
    is_full.clear()
    until(written.is_set)
    supervisor.release()
    assert len([line for line in said if "No space left" in line]) == 1


def test_an_error_of_a_look_does_not_end_the_supervision(make: Make) -> None:
    """It is said once; what ends is started again all the same."""
    said: list[str] = []

    def look() -> None:
        raise CorruptArtifactError("CURRENT is damaged")

    child = make(SLEEPS)
    supervisor = Supervisor(say=said.append, changed=lambda: None, look=look)
    child.start()
    supervisor.watch([child])
    until(lambda: said)
    first = child.pid
    child.kill()
    until(lambda: child.pid != first and child.ended() is None)
    supervisor.release()
    assert [line for line in said if "CURRENT" in line] == ["tried again: CURRENT is damaged"]


def test_an_output_that_nobody_reads_does_not_end_the_supervision(make: Make) -> None:
    """As of `helix up | head`: the line is lost, and what ends is started again all the same."""

    def say(_: str) -> None:
        raise BrokenPipeError

    child = make(SLEEPS)
    supervisor = Supervisor(say=say, changed=lambda: None)
    child.start()
    supervisor.watch([child])
    for _ in range(2):
        first = child.pid
        child.kill()
        until(lambda first=first: child.pid != first and child.ended() is None)
    supervisor.release()


def test_held_processes_start_again_though_what_comes_before_fails(make: Make, tmp_path: Path) -> None:
    """A model that cannot be read is said; ingest and consolidation are not left stopped."""
    home, said = HomeFolder.at(tmp_path / "home"), list[str]()
    home.run.mkdir(parents=True)
    child = make(SLEEPS)

    def fail() -> None:
        raise CorruptArtifactError("the card is damaged")

    def look() -> None:
        holding.look()

    supervisor = Supervisor(say=said.append, changed=lambda: None, look=look)
    holding = Holding(
        home, supervisor, children=lambda: [child], before_start=fail, changed=lambda: None, say=said.append
    )
    request = request_path(home)
    request.write_text(json.dumps(request_of(home)))
    child.start()
    supervisor.watch([child])
    until(lambda: holding.is_on)
    assert child.ended() is not None
    request.unlink()
    # `is_on` ends before the start, for the record that others read
    until(lambda: not holding.is_on and child.ended() is None)
    supervisor.release()
    assert sum("the card is damaged" in line for line in said) == 1


def holds(home: HomeFolder) -> subprocess.Popen[bytes]:
    """A command in a process of its own that holds until a line comes."""
    code = (
        "import sys, pathlib; from helix_cli.stack.hold import held; "
        "from helix_cli.home.folder import HomeFolder\n"
        "with held(HomeFolder.at(pathlib.Path(sys.argv[1]))): print('held', flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", code, str(home.root)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_processes_stay_held_until_the_last_command_that_wants_it_has_ended(tmp_path: Path) -> None:
    """As of two shards that are rebuilt at once: the end of the first starts no writer of the other."""
    home = HomeFolder.at(tmp_path)
    pids = {"nats": os.getpid()}
    started = {"nats": start_time(os.getpid())}
    home.run.mkdir()
    write_record(home, RunRecord("nats://127.0.0.1:5", "127.0.0.1:6", "", pids, started, is_held=True))
    (home.run / "hold-4194305.json").write_text("of a command that was killed")
    other = holds(home)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with held(home):
            other.communicate(b"\n", timeout=10)
            assert is_wanted(home)
        assert not is_wanted(home)
        assert not list(home.run.glob("hold*"))
    finally:
        other.kill()
        other.wait()


def test_processes_that_start_again_are_not_called_held(make: Make, tmp_path: Path) -> None:
    """A command that asks for the next hold meanwhile would believe it has it, and write beside a writer."""
    home, said = HomeFolder.at(tmp_path / "home"), list[str]()
    home.run.mkdir(parents=True)
    child, steps = make(SLEEPS), list[tuple[str, bool]]()

    def note(step: str) -> None:
        steps.append((step, holding.is_on))

    supervisor = Supervisor(say=said.append, changed=lambda: None)
    holding = Holding(
        home,
        supervisor,
        children=lambda: [child],
        before_start=lambda: note("before they start"),
        changed=lambda: note("recorded"),
        say=said.append,
    )
    request_path(home).write_text(json.dumps(request_of(home)))
    holding.look()
    request_path(home).unlink()
    holding.look()
    assert steps == [("recorded", True), ("recorded", False), ("before they start", False)]


def test_the_last_line_is_read_from_the_end_of_a_log(tmp_path: Path) -> None:
    """One that is larger than the memory is not read whole; a missing one has no line."""
    log = tmp_path / "ingest-1.log"
    assert last_line(log) == ""
    with log.open("wb") as file:
        file.write(b"started\n")
        assert last_line(log) == ""
        file.flush()
        assert last_line(log) == "started"
        file.seek(1 << 42)
        file.write("\nno disk: Łódź\n".encode())
    assert last_line(log) == "no disk: Łódź"


def test_draining_asks_first(make: Make) -> None:
    """A process that ends on SIGTERM is not killed."""
    child = make(SLEEPS)
    child.start()
    until(lambda: "up" in last_line(child.log))
    said: list[str] = []
    drain([child], hurry=threading.Event(), say=said.append)
    assert (child.ended(), said) == (-15, [])


def test_a_second_request_kills_what_does_not_drain(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hurry` ends the wait, of any length."""
    monkeypatch.setattr("helix_cli.stack.supervisor.DRAIN_SECONDS", 3_600.0)
    child = make(STUBBORN)
    child.start()
    until(lambda: "up" in last_line(child.log))
    hurry = threading.Event()
    threading.Timer(0.2, hurry.set).start()
    said: list[str] = []
    drain([child], hurry=hurry, say=said.append)
    assert child.ended() == -9
    assert said == ["child-1 did not drain in time: killed"]


def test_ctrl_c_in_the_terminal_does_not_reach_the_children(make: Make) -> None:
    """Each child has its own process group, and all share one session."""
    child = make(SLEEPS)
    child.start()
    assert os.getpgid(child.pid) == child.pid
    assert os.getsid(child.pid) == os.getsid(0)


def test_a_child_inherits_what_the_user_set_beside_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of the command do not have the prefix of a service."""
    monkeypatch.setenv("HELIX_INGEST_LANES", "3")
    environment = child_environment({"HELIX_QUERY_LISTEN": "here:2"})
    assert (environment["HELIX_INGEST_LANES"], environment["HELIX_QUERY_LISTEN"]) == ("3", "here:2")
    prefixes = tuple(f"HELIX_{service.name.upper()}_" for service in SERVICES)
    own = (NATS_VARIABLE, QUERY_VARIABLE, TENANT_VARIABLE)
    assert not [name for name in own if name.startswith(prefixes)]
