"""Processes of a service that tests start often, forked from one that has imported the service.

Importing a service takes a second of processor time, most of what a short test of its process takes. `start`
has an interpreter that imports the service once and then forks. Each start is a process of its own, with its
own environment and log, that can be stopped and killed; it runs the module of the service from the first
line. The tests of whole stacks start services as `helix up` does.

When the interpreter forks, the imported service has done nothing: no connection, no engine and no store is
open, and no other thread works. LanceDB, which warns of forks, starts the thread of its loop again.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

START_SECONDS = 120.0
"""For an import and a fork on a machine under load."""
EXIT_SECONDS = 30.0


class Started:
    """A forked process, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int) -> None:
        """Describe a process that runs."""
        self.pid = pid
        self.returncode: int | None = None
        self._over = threading.Event()

    def end(self, status: int) -> None:
        """Note how it ended."""
        self.returncode = os.waitstatus_to_exitcode(status)
        self._over.set()

    def poll(self) -> int | None:
        """Exit code, negative for a signal; None until the interpreter has told of its end."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Exit code when it has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        if not self._over.wait(timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and that is not told yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Preloaded:
    """An interpreter that has imported the `app` module of a service."""

    def __init__(self, module: str) -> None:
        """Start it; `module` is what `python -m` would run."""
        self.module = module
        self._starting = threading.Lock()
        self._changed = threading.Condition()
        self._started: list[Started] = []
        self._running: dict[int, Started] = {}
        self.is_over = False
        """Whether the interpreter has ended, so that it forks no more."""
        self._server = subprocess.Popen(
            [sys.executable, "-P", __file__, f"{module}.app"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, environment: Mapping[str, str], log: Path, *, code: str = "") -> Started:
        """A process with this environment, whose output goes to `log`; `code` runs instead of the module."""
        log.write_bytes(b"")
        request = {"module": self.module, "code": code, "environment": dict(environment), "log": str(log)}
        assert self._server.stdin is not None
        with self._starting, self._changed:
            before = len(self._started)
            self._server.stdin.write(f"{json.dumps(request)}\n")
            self._server.stdin.flush()
            self._changed.wait_for(lambda: len(self._started) > before or self.is_over, START_SECONDS)
            if len(self._started) > before:
                return self._started[before]
            # a fork that comes later must not be taken for that of the next request
            self._server.kill()
            raise AssertionError(f"{self.module} was not forked; its interpreter: {self._server.wait()}")

    def close(self) -> None:
        """End the interpreter; processes that it forked go on."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(EXIT_SECONDS)
        self._reader.join()

    def _read(self) -> None:
        """Note what the interpreter tells: a process it forked, or one that ended and how."""
        assert self._server.stdout is not None
        for line in self._server.stdout:
            pid, _, status = line.strip().partition(" ")
            with self._changed:
                if not status:
                    self._running[int(pid)] = Started(int(pid))
                    self._started.append(self._running[int(pid)])
                elif (ended := self._running.pop(int(pid), None)) is not None:
                    ended.end(int(status))
                self._changed.notify_all()
        with self._changed:
            self.is_over = True
            for left in self._running.values():
                left.end(signal.SIGKILL)  # nobody will tell how they end, and no test may wait for it
            self._changed.notify_all()


_MADE: dict[tuple[str, int], Preloaded] = {}
"""Two for a module, in turn: what they fork has their hash seed, and what hangs on the order of a set must
show as a difference between a process and the next."""
_TURNS: dict[str, int] = {}


def start(module: str, environment: Mapping[str, str], log: Path, *, code: str = "") -> Started:
    """A process of a service, forked from the interpreter of this test run that has imported it."""
    turn = _TURNS[module] = 1 - _TURNS.get(module, 1)
    made = _MADE.get((module, turn))
    if made is None or made.is_over:
        made = _MADE[module, turn] = Preloaded(module)
    return made.start(environment, log, code=code)


def close_all() -> None:
    """End the interpreters of this test run."""
    while _MADE:
        _MADE.popitem()[1].close()


def _serve() -> dict[str, Any]:
    """Fork for each request until standard input ends; each forked process returns its request."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # without a buffer, in which a request would wait unseen
    requests = os.fdopen(0, "rb", buffering=0, closefd=False)
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _tell_ended()
        if requests in ready:
            line = requests.readline()
            if not line:
                sys.exit(0)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(woken)
                os.close(wake)
                request: dict[str, Any] = json.loads(line)
                return request
            _tell(str(pid))


def _tell_ended() -> None:
    """Tell of every process that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        _tell(f"{pid} {status}")


def _tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def _run(request: Mapping[str, Any]) -> None:
    """Be the process that a request describes."""
    os.environ.clear()
    os.environ.update(request["environment"])
    log, nothing = (
        os.open(request["log"], os.O_WRONLY | os.O_APPEND),
        os.open(os.devnull, os.O_RDONLY),
    )
    for number, file in enumerate((nothing, log, log)):
        os.dup2(file, number)
    os.close(log)
    os.close(nothing)
    time.tzset()
    sys.argv = ["-c" if request["code"] else request["module"]]
    if request["code"]:
        exec(request["code"], {"__name__": "__main__"})  # noqa: S102  of a test
    else:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    from helix_shared.machine.processes import use_one_blas_thread

    os.environ.setdefault("RUST_LOG", "error")
    use_one_blas_thread()
    warnings.filterwarnings("ignore", message="lancedb fork support", category=RuntimeWarning)
    importlib.import_module(sys.argv[1])
    _run(_serve())
