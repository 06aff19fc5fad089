"""Whose key an event is under."""

import json

import pytest

from helix_shared.keys.owner import key_owner, owner_code


def owner(kind: str, tenant: str = "acme", **fields: object) -> str:
    """The owner of an event with these fields."""
    return key_owner(f"helix.v1.events.{tenant}.s1.{kind}", json.dumps(fields).encode())


@pytest.mark.parametrize("kind", ["message", "tool", "memory", "correct", "document"])
def test_what_a_user_says_is_under_the_key_of_the_user(kind: str) -> None:
    """Of that tenant: another tenant's user of the same name has another key."""
    assert owner(kind, user_id="ana", text="x") == owner_code("acme", "ana")
    assert owner(kind, user_id="bo", text="x") == owner_code("acme", "bo")
    assert owner(kind, tenant="beta", user_id="ana") == owner_code("beta", "ana")
    assert len({owner_code("acme", "ana"), owner_code("acme", "bo"), owner_code("beta", "ana")}) == 3


def test_events_that_only_name_ids_are_under_the_key_of_the_tenant() -> None:
    """They survive the erasure of their user, because a rebuild needs them."""
    tenant = owner_code("acme", "")
    assert {owner(kind, user_id="ana") for kind in ("erase", "forget", "undo")} == {tenant}
    assert owner("document", user_id="ana", deleted=True) == tenant
    assert owner("feedback", user_id="ana") == tenant
    assert owner("feedback", user_id="ana", query="when?") == owner_code("acme", "ana")
    assert owner("message", text="x") == tenant


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"user_id": 5}', b"[" * 100_000])
def test_what_is_no_event_has_an_owner_too(body: bytes) -> None:
    """The log holds refused bodies as well; a subject may be anything."""
    assert key_owner("helix.v1.events.acme.s1.message", body) == owner_code("acme", "")
    assert len(key_owner("x", body)) == 16
