"""The secured stack of this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_cli.stack.stack import Stack
from tests.integration.test_cli.running import ingest_fault, run

ENVIRONMENT = {
    "HELIX_FORWARDER_PUBLISH_INTERVAL_SECONDS": "0.2",
    "HELIX_CONSOLIDATION_ACCESS_INTERVAL_SECONDS": "0.2",
    "HELIX_GATEWAY_REQUEST_SECONDS": "60",
    "HELIX_GATEWAY_WAIT_SECONDS": "120",
}


@pytest.fixture(scope="package")
def fault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that switches the defect of ingest on: it refuses texts with the word mercury."""
    return ingest_fault(tmp_path_factory.mktemp("fault"))


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path, fault: Path) -> Iterator[Stack]:
    """A secured stack with all processes, and publishers of acme and beta."""
    home = tmp_path_factory.mktemp("home")
    code, out, err = run(home, "security", "init", "--tenant", "acme", "--tenant", "beta:write")
    assert code == 0, err
    assert "tenant acme: " in out
    parts = (str(fault.parent), os.environ.get("PYTHONPATH"))
    own = {"FAULT": str(fault), "PYTHONPATH": os.pathsep.join(filter(None, parts))}
    with Stack(
        home,
        nats_port=0,
        query_port=0,
        copies={"gateway": 1},
        models=models_dir,
        environment=ENVIRONMENT | own,
    ) as running:
        running.wait_ready()
        yield running
