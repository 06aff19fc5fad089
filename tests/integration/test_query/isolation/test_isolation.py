"""No call shows a caller anything of another tenant or user; tests/faults has the long form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_shared.rpc.access.credential import Credential
from tests.integration.test_query.isolation.operations import OPERATIONS, Calls
from tests.integration.test_query.isolation.world import served

pytestmark = pytest.mark.integration

SEQUENCES, LENGTH = 60, 4
FEW_TENANTS = ("acme", "ACME", "acme_", "-", "null", "a" * 64, "a" * 63)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Any]:
    """The world with its services."""
    folder = tmp_path_factory.mktemp("isolation")
    with served(folder, models_dir, tenants=FEW_TENANTS) as started:
        yield started


def ran(world: Any, *, with_tokens: bool, seed: int = 1) -> Calls:
    """The short form of the sequences."""
    memories, unsecured, secured = world
    stub = secured.stub if with_tokens else unsecured.stub
    calls = Calls(memories, stub, seed=seed, with_tokens=with_tokens)
    for _ in range(SEQUENCES):
        calls.sequence(LENGTH)
    return calls


@pytest.mark.parametrize("with_tokens", [False, True])
def test_no_call_shows_anything_of_another_tenant_or_user(world: Any, *, with_tokens: bool) -> None:
    """In answers, errors and explanations; a foreign memory reads like one that does not exist."""
    calls = ran(world, with_tokens=with_tokens)
    assert calls.foreign == []
    assert calls.replies > SEQUENCES
    assert calls.seen > SEQUENCES, "the callers see what is theirs"
    assert bool(calls.denied) is with_tokens


def test_every_rpc_is_called() -> None:
    """A new RPC must be part of the sequences."""
    service = recall_pb2.DESCRIPTOR.services_by_name["RecallService"]
    assert OPERATIONS.keys() == {method.name for method in service.methods}


def test_the_sequences_find_a_filter_that_admits_everybody(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: without the check of the user the same sequences find foreign memories."""
    monkeypatch.setattr("helix_query.api.requests.checks.name", _ana_instead_of_the_user)
    assert ran(world, with_tokens=False).foreign


def test_the_sequences_find_a_credential_that_bounds_nothing(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: without the bound of the credential a caller acts for whom it claims."""
    monkeypatch.setattr(Credential, "bound", lambda *_: None)
    assert ran(world, with_tokens=True).foreign


def _ana_instead_of_the_user(field: str, value: str) -> str:
    return "ana" if field == "scope.user_id" else value
