"""Ids that people type are looked up for whom the event names."""

from typing import Any

import pytest

from helix_cli.commands.common import memory_ids
from helix_cli.home.addresses import Server
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import InvalidInputError


@pytest.mark.parametrize(
    ("given", "principals"),
    [({"acl": ["nurses"]}, ["nurses"]), ({}, []), ({"acl": "nurses"}, []), ({"acl": None, "user_id": 3}, [])],
)
def test_the_access_list_of_the_event_counts(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], principals: list[str]
) -> None:
    """Also one that `helix publish --set acl=...` gives."""
    scopes: list[recall_pb2.Scope] = []

    def whole(ids: list[str], scope: recall_pb2.Scope, _server: object, *, field: str) -> list[str]:
        assert field == "memory_ids"
        scopes.append(scope)
        return [one + "0" for one in ids]

    monkeypatch.setattr(memory_ids, "whole_ids", whole)
    fields = {"tenant_id": "acme", "memory_ids": ["abcd"], **given}
    found = memory_ids.with_whole_ids(fields, lambda: pytest.fail("not asked"))
    assert found["memory_ids"] == ["abcd0"]
    assert scopes == [recall_pb2.Scope(tenant_id="acme", principals=principals)]


@pytest.mark.parametrize(
    ("refused", "told"),
    [("id", "--already-served"), ("prefix", "--already-served"), ("scope.tenant_id", "scope.tenant_id")],
)
def test_a_refusal_names_the_ids_only_where_it_is_about_them(
    monkeypatch: pytest.MonkeyPatch, refused: str, told: str
) -> None:
    """A tenant that is none is no fault of the ids."""

    def whole_id(*_: object) -> str:
        raise InvalidInputError(refused, "is wrong")

    monkeypatch.setattr(RecallClient, "whole_id", whole_id)
    request = recall_pb2.RecallRequest(already_served=["0123abcd"])
    with pytest.raises(InvalidInputError, match="is wrong") as error:
        memory_ids.take_whole_ids(request, Server("127.0.0.1:1"))
    assert error.value.field == told
