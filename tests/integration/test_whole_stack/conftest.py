"""The stack of this folder: every service and the gateway, in one home.

Files run in the order of their names: the first finds the home empty, the last kills processes. What others
left in the tenant acme is in the way of none; clients have tenants of their own.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_cli.stack.stack import Stack
from tests.integration.test_cli.running import ingest_fault


@pytest.fixture(scope="package")
def fault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that switches the defect of ingest on: it refuses texts with the word mercury."""
    return ingest_fault(tmp_path_factory.mktemp("fault"))


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path, fault: Path) -> Iterator[Stack]:
    """The stack; its deadlines are those of a machine under load."""
    home = tmp_path_factory.mktemp("home")
    parts = (str(fault.parent), os.environ.get("PYTHONPATH"))
    environment = {
        "FAULT": str(fault),
        "HELIX_GATEWAY_HOOK_TRANSCRIPTS": str(home / "transcripts"),
        "HELIX_GATEWAY_REQUEST_SECONDS": "60",
        "HELIX_GATEWAY_WAIT_SECONDS": "120",
        "HELIX_QUERY_CHANNEL_DEADLINE_SECONDS": "5",
        "HELIX_QUERY_DEADLINE_SECONDS": "10",
        "PYTHONPATH": os.pathsep.join(filter(None, parts)),
    }
    ports = {"nats_port": 0, "query_port": 0, "gateway_port": 0}
    with Stack(home, **ports, copies={"gateway": 1}, models=models_dir, environment=environment) as running:
        running.wait_ready()
        yield running


@pytest.fixture
def home(stack: Stack) -> Path:
    """The home of the stack."""
    return stack.home.root
