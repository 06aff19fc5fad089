"""The stack of this folder; each file has tenants of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from helix_cli.stack.stack import Stack

UNUSED: Final = dict.fromkeys(("doc2query", "kg", "forwarder"), 0)
"""Processes that only enrich."""


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """A running stack."""
    home = tmp_path_factory.mktemp("home")
    with Stack(home, nats_port=0, query_port=0, copies=UNUSED, models=models_dir) as running:
        running.wait_ready()
        yield running
