"""A language model on a socket, and everything else of Helix."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .endpoint_server import EndpointServer


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    """A server that answers well until the test changes it."""
    with EndpointServer() as running:
        yield running
