"""Child processes of a stack: a service (`python -m helix_...`) or the NATS server.

A child has a process group of its own, so that Ctrl-C reaches `helix up` only, which then drains in its
order. It has no session of its own: the scheduler shares the processor among sessions first, and niceness
would have no effect between them (sched(7), autogroups). `supervisor` keeps children running, `stack`
decides which.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

from helix_cli.home.record import start_time
from helix_shared.broker.server import NatsServer, free_port
from helix_shared.machine.processes import module_command
from helix_shared.machine.tail import tail_of

LOG_BYTES: Final = 16 * 1024 * 1024
"""A larger log is renamed when its process starts; one old file is kept."""
TAIL_BYTES: Final = 2_000


class Child(Protocol):
    """A process that a supervisor can watch."""

    @property
    def name(self) -> str:
        """Name and number, like `ingest-1`."""

    @property
    def log(self) -> Path:
        """The file with its output."""

    @property
    def pid(self) -> int:
        """Process id; 0 before the first start."""

    def start(self) -> None:
        """Start it; raises HelixError or OSError when it does not start."""

    def ended(self) -> int | None:
        """Exit code, or None while it runs."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


class ServiceChild:
    """A service of Helix."""

    def __init__(
        self,
        name: str,
        module: str,
        *,
        environment: Mapping[str, str],
        log: Path,
        port_variable: str = "",
        reserved: Container[int] = (),
    ) -> None:
        """Describe it. `port_variable` has the port of its health; unset, each start takes a free one.

        It takes none of the `reserved` ones.
        """
        self.health_url = ""
        self._port_variable = port_variable
        self._reserved = reserved
        self.name = name
        self.log = log
        self._command = module_command(module)
        self.environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 before the first start."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the process with its output appended to the log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.old"))
        environment = self._with_port()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  one of our own modules
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                process_group=0,
            )

    def _with_port(self) -> dict[str, str]:
        """The environment with a port for the health; a free one may be taken at the next start."""
        if not self._port_variable:
            return self.environment
        port = self.environment.get(self._port_variable, "0")
        if port in {"", "0"}:
            port = str(next(free for free in iter(free_port, None) if free not in self._reserved))
        self.health_url = f"http://127.0.0.1:{port}/healthz"
        return self.environment | {self._port_variable: port}

    def ended(self) -> int | None:
        """Exit code, or None while it runs."""
        return self._process.poll() if self._process else 0

    def terminate(self) -> None:
        """Send SIGTERM, so that it drains and ends."""
        if self._process:
            self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self._process:
            self._process.kill()
            self._process.wait()


class NatsChild:
    """The NATS server."""

    name = "nats"

    def __init__(self, server: NatsServer) -> None:
        self._server = server

    def reload(self) -> None:
        """Let the running server read its users again."""
        self._server.reload()

    def is_frozen(self) -> bool:
        """Whether a stream refuses messages until the server is started again."""
        return self._server.is_frozen()

    @property
    def log(self) -> Path:
        """The log of the server."""
        return self._server.log

    @property
    def pid(self) -> int:
        """Process id; 0 before the first start."""
        return self._server.process.pid if self._server.process else 0

    def start(self) -> None:
        """Start and wait until it accepts connections."""
        self._server.start()

    def ended(self) -> int | None:
        """Exit code, or None while it runs."""
        return self._server.process.poll() if self._server.process else 0

    def terminate(self) -> None:
        """Send SIGTERM."""
        if self._server.process:
            self._server.process.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        self._server.kill()


def metrics_addresses(children: Sequence[Child]) -> dict[str, str]:
    """Where each process that was started serves its metrics; they are beside its health."""
    services = [child for child in children if isinstance(child, ServiceChild) and child.health_url]
    return {child.name: urlsplit(child.health_url).netloc for child in services}


def processes_of(children: Sequence[Child]) -> tuple[dict[str, int], dict[str, str]]:
    """Process ids and start times by name, of those that run.

    An ended one has no start time. By its id alone, any later process of the system would be taken for it.
    """
    pids = {child.name: child.pid for child in children if child.pid}
    times = {name: start_time(pid) for name, pid in pids.items()}
    if any(times.values()):  # otherwise the system does not tell them
        times = {name: time for name, time in times.items() if time}
    return {name: pids[name] for name in times}, times


def child_environment(own: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process with `own` added."""
    return dict(os.environ) | dict(own)


def end_of(name: str, code: int, log: Path) -> str:
    """How a process ended: its exit code, or the signal that killed it, and the last line of its log."""
    how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    line = last_line(log)
    return f"{name} {how}" + (f"; last line of its log: {line}" if line else "")


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def last_line(log: Path) -> str:
    """The last line of a log; of a process that failed by itself it often says why."""
    try:
        tail = tail_of(log, TAIL_BYTES).strip()
    except OSError:
        return ""
    return tail.splitlines()[-1] if tail else ""
