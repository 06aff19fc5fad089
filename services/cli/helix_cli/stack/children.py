"""One child process each: a service (`python -m helix_...`) or the NATS server.

A child runs in a process group of its own, so that Ctrl-C in the terminal reaches `helix up` alone and
the order of draining stays ours; in a session of its own it would have as much of the cores as all of
the others together, whatever its niceness (sched(7), autogroups). `supervisor` keeps
children running, `stack` decides which.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from helix_shared.broker.server import NatsServer

LOG_BYTES: Final = 16 * 1024 * 1024
"""A log beyond this is moved aside when its process starts; one old file is kept."""
TAIL_BYTES: Final = 2_000


class Child(Protocol):
    """What a supervisor needs of a process."""

    @property
    def name(self) -> str:
        """Name and number, like `ingest-1`."""

    @property
    def log(self) -> Path:
        """Where its output goes."""

    @property
    def pid(self) -> int:
        """Process id; 0 before the first start."""

    def start(self) -> None:
        """Start it; raises HelixError or OSError when it cannot be."""

    def ended(self) -> int | None:
        """Exit code, or None while it runs."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it as a crash would."""


class ServiceChild:
    """A service of Helix in its own process."""

    def __init__(self, name: str, module: str, *, environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.log = log
        self._command = [sys.executable, "-m", module]
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 before the first start."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the process; it logs to its file."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.old"))
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  our own module and our own environment
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                process_group=0,
            )

    def ended(self) -> int | None:
        """Exit code, or None while it runs."""
        return self._process.poll() if self._process else 0

    def terminate(self) -> None:
        """Ask it to drain and end."""
        if self._process:
            self._process.terminate()

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process:
            self._process.kill()
            self._process.wait()


class NatsChild:
    """The NATS server as a child like the others."""

    name = "nats"

    def __init__(self, server: NatsServer) -> None:
        self._server = server

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self._server.folder / "nats.log"

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
        """Ask it to end."""
        if self._server.process:
            self._server.process.terminate()

    def kill(self) -> None:
        """End it as a crash would."""
        self._server.kill()


def child_environment(own: Mapping[str, str]) -> dict[str, str]:
    """Our environment for a child, with `own` added."""
    return dict(os.environ) | dict(own)


def last_line(log: Path) -> str:
    """The last line of a log, for telling why a process ended."""
    try:
        tail = log.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip()
    except OSError:
        return ""
    return tail.splitlines()[-1] if tail else ""
