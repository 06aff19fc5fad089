"""Fixtures of several rooms: a real NATS server with its streams, a real model."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from nats.aio.client import Client

from helix_cli.model_build.default_model import ensure_default_model
from helix_shared.broker.connection import connect
from helix_shared.broker.server import NatsServer
from helix_shared.broker.streams import provision
from helix_shared.settings import helix_home


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The folder of the models that `make setup` built; built here if there is none."""
    root = helix_home() / "models"
    ensure_default_model(root)
    return root


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A NATS server for one test."""
    with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest.fixture
async def nats_client(nats_server: NatsServer) -> AsyncIterator[Client]:
    """A client of a server whose streams and consumers are provisioned."""
    client = await connect(nats_server.url, name="test")
    await provision(client.jetstream())
    yield client
    await client.close()
