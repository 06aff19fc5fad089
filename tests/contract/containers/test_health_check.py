"""`ops/healthy.py`, which containers run as their health check."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2_grpc

from helix_cli.security.certificates import new_authority, new_certificate

from .compose_file import ROOT


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://127.0.0.1:9/metrics", "does not answer"),
        ("grpc://127.0.0.1:9", "UNAVAILABLE"),
        ("ftp://x", "neither"),
    ],
)
def test_health_check_fails_when_no_server_answers(address: str, reason: str) -> None:
    """The check reports why it fails."""
    command = [sys.executable, "-I", ROOT / "ops/healthy.py", address]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert checked.returncode == 1
    assert reason in checked.stderr


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A gRPC server with TLS that asks callers for a certificate: its address and its environment."""
    folder = tmp_path_factory.mktemp("tls")
    authority = new_authority()
    certificate, key = new_certificate(authority, ["helix.example.org"])
    files = {"ca.pem": authority[0], "server.pem": certificate, "server.key": key}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    server = grpc.server(ThreadPoolExecutor(1))
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    credentials = grpc.ssl_server_credentials([(key, certificate)], authority[0], require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    settings = {"CERT": "server.pem", "KEY": "server.key", "CLIENT_CA": "ca.pem"}
    yield (
        f"grpc://127.0.0.1:{port}",
        {f"HELIX_QUERY_TLS_{name}_FILE": str(folder / file) for name, file in settings.items()},
    )
    server.stop(grace=None)


def test_health_check_uses_tls_where_the_service_has_it(secured: tuple[str, dict[str, str]]) -> None:
    """It trusts the certificate of its service, and shows it where callers need one."""
    assert _health(*secured) == ""


def test_health_check_without_the_settings_of_tls_fails(secured: tuple[str, dict[str, str]]) -> None:
    """Control: the server answers nobody in the clear."""
    assert "does not answer" in _health(secured[0], {})


def test_health_check_does_not_trust_another_certificate(
    secured: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    """Another server on the port is no healthy service."""
    certificate, key = new_certificate(new_authority(), ["helix.example.org"])
    (tmp_path / "other.pem").write_bytes(certificate)
    (tmp_path / "other.key").write_bytes(key)
    other = {"CERT": "other.pem", "KEY": "other.key"}
    environment = {f"HELIX_QUERY_TLS_{name}_FILE": str(tmp_path / file) for name, file in other.items()}
    assert "does not answer" in _health(secured[0], environment)


def _health(address: str, environment: dict[str, str]) -> str:
    """What the health check says on standard error; empty when all is well."""
    command = [sys.executable, "-I", ROOT / "ops/healthy.py", address]
    checked = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert (checked.returncode == 0) is (checked.stderr == "")
    return checked.stderr
