"""Every kind of process serves its metrics where METRICS_HOST says; probes of Kubernetes need it."""

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from helix_shared.broker.server import free_port

pytestmark = pytest.mark.integration


ADDRESSES = {
    "query": {"LISTEN": "127.0.0.1:{}"},
    "kg": {"NATS_URL": "nats://127.0.0.1:{}"},
    "deep": {"LISTEN": "127.0.0.1:{}", "QUERY_ADDRESS": "127.0.0.1:{}"},
    "gateway": {
        "LISTEN": "127.0.0.1:{}",
        "QUERY_ADDRESS": "127.0.0.1:{}",
        "NATS_URL": "nats://127.0.0.1:{}",
    },
}


@pytest.mark.parametrize("service", ADDRESSES)
def test_a_process_answers_on_all_addresses_where_its_setting_says_so(service: str, tmp_path: Path) -> None:
    """Also while NATS is not there. 127.0.0.2 is this machine, but the default does not listen on it."""
    port, prefix = free_port(), f"HELIX_{service.upper()}"
    settings = {name: address.format(free_port()) for name, address in ADDRESSES[service].items()}
    settings |= {"METRICS_PORT": str(port), "METRICS_HOST": "0.0.0.0"}  # noqa: S104  what is tested
    own = {name: value for name, value in os.environ.items() if not name.startswith("HELIX_")}
    named = {f"{prefix}_{name}": value for name, value in settings.items()}
    (tmp_path / "models").mkdir()
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"helix_{service}"],
            env={**own, **named, "HELIX_HOME": str(tmp_path)},
            stdout=log,
            stderr=log,
        )
    try:
        assert _status(f"http://127.0.0.2:{port}/healthz", process) == 200, (tmp_path / "log").read_text()
    finally:
        process.kill()
        process.wait(20)


def _status(url: str, process: "subprocess.Popen[bytes]") -> int:
    """Of the first answer; 0: the process ended, or does not answer."""
    for _ in range(600):
        if process.poll() is not None:
            return 0
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310  an address of this test
                return int(reply.status)
        except OSError:
            time.sleep(0.1)
    return 0
