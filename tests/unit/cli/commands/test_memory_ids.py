"""Ids that people type are looked up for whom the event names."""

from typing import Any

import pytest

from helix_cli.commands.common import memory_ids
from helix_memory.recall.v1 import recall_pb2


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
