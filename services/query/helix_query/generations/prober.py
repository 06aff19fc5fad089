"""Asks the prober, a process of its own, whether a generation can be opened and searched.

A generation that ends the prober by a signal, or keeps it for too long, is refused: it would have taken the
service down. It gets a second try in a new process, so that a prober that was killed for another reason,
as by the kernel for its memory, refuses nothing.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.machine.processes import module_command
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

PROBE_SECONDS: Final = 120.0
"""Longest probe; one that takes longer hangs."""
TRIES: Final = 2
_CHUNK: Final = 65_536

_log = logger(__name__)


class CrashedError(CorruptArtifactError):
    """A generation ended the prober, or hung it."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Why a generation cannot be opened; an empty `problem`: it can."""

    problem: str = ""
    is_temporary: bool = False
    """Whether the machine failed, and not the generation."""


class Prober:
    """Owns one process, started before it is needed, that probes one generation after another."""

    def __init__(self, *, seconds: float = PROBE_SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._probes = ThreadPoolExecutor(1, thread_name_prefix="probe")

    @property
    def pid(self) -> int:
        """Id of the process; 0 while there is none."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> bool:
        """Start the process if none runs; returns whether one runs."""
        with self._lock:
            if self._closed:
                return False
            if self._process is None or self._process.poll() is not None:
                self._end()
                self._process = self._spawn()
            return self._process is not None

    def begin(self, root: Path, number: int) -> Future[float]:
        """`check` on the thread of the probes; any thread may call it."""
        return self._probes.submit(self.check, root, number)

    def check(self, root: Path, number: int) -> float:
        """Probe a generation; returns the seconds it took, 0 where no process can be started.

        Only one thread may call it.

        Raises:
            CrashedError: it ends the process by a signal, or is not done in time; twice.
            CorruptArtifactError: a store cannot be read.
            TemporaryError: the machine is short of disk, memory or file handles.
        """
        began = time.monotonic()
        for tried in range(1, TRIES + 1):
            if not self.start():
                return 0.0
            result, end = self._ask_process(root, number)
            if not end:
                if result.problem:
                    raise (TemporaryError if result.is_temporary else CorruptArtifactError)(result.problem)
                return time.monotonic() - began
            _log.error("prober_ended", generation=number, how=end, tries=tried)
        raise CrashedError(f"generation {number} {end} the process that opens it first")

    def close(self) -> None:
        """End the process, also while it probes; nothing is probed any more."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                # the thread that waits for a result reads the end of its output
                self._process.kill()
                self._process.wait()

    def _spawn(self) -> subprocess.Popen[bytes] | None:
        try:
            return subprocess.Popen(  # noqa: S603  one of our own modules
                module_command("helix_query.generations.probe_process"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={name: value for name, value in os.environ.items() if not name.startswith("HELIX_")},
            )
        except OSError as error:
            _log.error("generations_are_not_probed", reason=str(error))
            return None

    def _ask_process(self, root: Path, number: int) -> tuple[ProbeResult, str]:
        """The result of a probe; and how the process ended, empty while it runs."""
        process = self._process
        if process is None or process.stdin is None:
            return ProbeResult(), "did not start"
        request = json.dumps({"root": str(root), "number": number})
        try:
            process.stdin.write(request.encode() + b"\n")
            process.stdin.flush()
        except OSError:
            return ProbeResult(), self._how_ended(process)
        line = self._read_line(process)
        if not line:
            return ProbeResult(), self._how_ended(process)
        said = json.loads(line)
        return ProbeResult(str(said["problem"]), is_temporary=bool(said["is_temporary"])), ""

    def _read_line(self, process: subprocess.Popen[bytes]) -> bytes:
        """The next line of the process; empty when it ends, or `_seconds` are over."""
        if process.stdout is None:
            return b""
        found, deadline = b"", time.monotonic() + self._seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not found.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return b""
                part = os.read(process.stdout.fileno(), _CHUNK)
                if not part:
                    return b""
                found += part
        return found

    def _how_ended(self, process: subprocess.Popen[bytes]) -> str:
        try:
            # its output may be closed a little before it ends
            code = process.wait(1.0)
        except subprocess.TimeoutExpired:
            with self._lock:
                self._end()
            return f"hangs for {self._seconds:g} s in"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"ends with {how}"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        process.wait()
