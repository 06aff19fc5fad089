"""The Helix that `run_suites.py` started; every test has a tenant of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from helix_memory.client import AsyncHelix, Helix

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile(
    "adapters", deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
settings.load_profile("adapters")


def new_helix(*, user: str = "") -> Helix:
    """A client for a new tenant."""
    return Helix(**_caller(user))


def _caller(user: str) -> dict[str, Any]:
    return {
        "tenant": f"t{uuid4().hex}",
        "user": user,
        "nats_url": os.environ["ADAPTERS_NATS"],
        "query_address": os.environ["ADAPTERS_QUERY"],
        "deadline_seconds": 60.0,
    }


@pytest.fixture(scope="session", autouse=True)
def first_generation() -> None:
    """A Helix answers reads once it has a generation."""
    with new_helix() as helix:
        helix.remember("The suites have begun.", wait=True)


@pytest.fixture
def helix() -> Iterator[Helix]:
    """A client for a tenant without memories, of the user Ana."""
    with new_helix(user="ana") as client:
        yield client


@pytest.fixture
async def async_helix() -> AsyncIterator[AsyncHelix]:
    """The same for asyncio."""
    async with AsyncHelix(**_caller("ana")) as client:
        yield client
