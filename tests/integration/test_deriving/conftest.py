"""Fixtures of the tests of kg and doc2query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_shared.broker.server import NatsServer

from .messages import Workers


@pytest.fixture
def workers(nats_server: NatsServer, tmp_path: Path) -> Iterator[Workers]:
    """Starts workers, and ends whatever still runs."""
    started = Workers(nats_server.url, tmp_path)
    yield started
    for process in started.processes:
        process.kill()
        process.wait()
