"""`helix gateway` in a process of its own."""

import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from helix_memory.transport.polling import poll
from helix_shared.broker.server import free_port
from helix_shared.machine.processes import module_command
from tests.hostile_folder import HostileFolder, environment_of_children

pytestmark = pytest.mark.integration


def is_served(url: str) -> bool:
    """Whether the gateway answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310  our own server
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def test_it_serves_in_a_folder_of_somebody_else(tmp_path: Path) -> None:
    """An `mcp.py` there is not what the gateway imports, nor is any other module there."""
    hostile, port = HostileFolder(tmp_path / "checkout"), free_port()
    nowhere = ("--nats", f"nats://127.0.0.1:{free_port()}", "--query", f"127.0.0.1:{free_port()}")
    command = module_command("helix_cli", "gateway", "--home", str(tmp_path), "--port", str(port), *nowhere)
    process = subprocess.Popen(command, cwd=hostile.path, env=environment_of_children())
    try:
        for _ in poll(60):
            if process.poll() is not None or is_served(f"http://127.0.0.1:{port}/healthz"):
                break
        assert hostile.ran == []
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
