import contextlib
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helix_cli.agents import helix_hook
from helix_cli.agents.connection import Connection

PROGRAM = Path(helix_hook.__file__)


@dataclass
class Server:
    """An HTTP server that answers as it is told, and keeps what it was sent."""

    status: int = 200
    answer: bytes = b'{"x":1}'
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    port: int = 0
    length: int | None = None
    """Of the body, as the answer states it."""
    pause: float = 0.0
    """In the middle of the body."""


@pytest.fixture
def server() -> Iterator[Server]:
    """Serves on loopback until the test ends."""
    kept = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            kept.headers.append({"path": self.path, **dict(self.headers)})
            self.send_response(kept.status)
            if kept.length is not None:
                self.send_header("Content-Length", str(kept.length))
            self.end_headers()
            half = len(kept.answer) // 2
            self.wfile.write(kept.answer[:half])
            time.sleep(kept.pause)
            with contextlib.suppress(OSError):
                self.wfile.write(kept.answer[half:])

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        kept.port = listening.server_address[1]
        threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        yield kept
        listening.shutdown()


def run(connection: Path, body: bytes = b'{"prompt": "x"}', *, program: Path = PROGRAM) -> bytes:
    """What the program prints; it always ends with 0 and says nothing on standard error."""
    command = [sys.executable, "-I", "-S", str(program), str(connection)]
    done = subprocess.run(command, input=body, capture_output=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    """The program with time for a slow machine."""
    text, path = PROGRAM.read_text(), tmp_path / "patient.py"
    for limit in ("CONNECT_SECONDS = 0.2", "ANSWER_SECONDS = 0.5"):
        assert limit in text
        text = text.replace(limit, f"{limit.split()[0]} = 20")
    path.write_text(text)
    return path


def connected(tmp_path: Path, port: int, token: Path | None = None) -> Path:
    """The file of a connection."""
    path = tmp_path / "codex.conf"
    user = "Zo\u00eb $HOME"
    path.write_text(Connection("codex", f"http://127.0.0.1:{port}", "acme", user, token).text())
    return path


def test_the_answer_of_the_gateway_is_printed(server: Server, tmp_path: Path, patient: Path) -> None:
    """The body goes as it came, with the headers of the connection and the token as it is now."""
    token = tmp_path / "token"
    token.write_text("t1\n")
    path = connected(tmp_path, server.port, token)
    assert json.loads(run(path, '{"prompt": "é"}'.encode(), program=patient)) == {"x": 1}
    sent = server.headers[0]
    assert server.bodies == ['{"prompt": "é"}'.encode()]
    assert (sent["path"], sent["Helix-Tenant"], sent["Authorization"]) == (
        "/hooks/codex",
        "acme",
        "Bearer t1",
    )
    assert sent["Helix-User"].encode("latin-1").decode() == "Zoë $HOME"
    assert sent["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("status", "answer"), [(200, b"{}"), (200, b""), (401, b'{"x":1}'), (500, b'{"x":1}')]
)
def test_nothing_is_printed_where_there_is_nothing_to_say(
    server: Server, tmp_path: Path, patient: Path, status: int, answer: bytes
) -> None:
    """An error of the gateway must not reach the model."""
    server.status, server.answer = status, answer
    assert run(connected(tmp_path, server.port), program=patient) == b""
    assert server.bodies


@pytest.mark.parametrize(("length", "printed"), [(7, b'{"x":1}\n'), (8, b""), (6, b"")])
def test_an_answer_that_was_cut_off_is_none(
    server: Server, tmp_path: Path, patient: Path, length: int, printed: bytes
) -> None:
    """The gateway ended while it answered; half of its JSON would reach the model as a text."""
    server.length = length
    assert run(connected(tmp_path, server.port), program=patient) == printed


def test_an_answer_that_is_late_is_none(server: Server, tmp_path: Path, patient: Path) -> None:
    """What came until the deadline is not printed either."""
    program = tmp_path / "hurried.py"
    text = patient.read_text().replace(
        "deadline = time.monotonic() + CONNECT_SECONDS + ANSWER_SECONDS", "deadline = time.monotonic() + 0.5"
    )
    assert text != patient.read_text()
    program.write_text(text)
    server.pause = 1.0
    assert run(connected(tmp_path, server.port), program=program) == b""


def test_without_a_gateway_the_agent_goes_on(tmp_path: Path) -> None:
    """Nothing listens, or a server that never answers does, or the files are not there or damaged."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert run(connected(tmp_path, port)) == b""
    assert run(connected(tmp_path, port)) == b""
    assert run(connected(tmp_path, port, tmp_path / "no token")) == b""
    assert run(tmp_path / "nowhere") == b""
    (tmp_path / "damaged").write_bytes(b"\xff")
    assert run(tmp_path / "damaged") == b""


def test_the_program_imports_next_to_nothing() -> None:
    """A prompt waits for every module; these take most of the time of others."""
    slow = ("site", "socket", "json", "typing", "re", "ssl", "encodings.idna")
    code = f"import sys; sys.path.insert(0, {str(PROGRAM.parent)!r}); import helix_hook"
    names = f"print([name for name in {slow!r} if name in sys.modules])"
    command = [sys.executable, "-I", "-S", "-c", f"{code}; {names}"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"[]\n"
