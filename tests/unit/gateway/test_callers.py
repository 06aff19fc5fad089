"""For whom a request speaks."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from helix_gateway.app import create_app
from helix_gateway.settings import GatewaySettings
from helix_memory.client import MemoryStates, Written
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError
from helix_shared.rpc.access.static_tokens import token_digest
from tests.unit.gateway.gateways import StubHelix, client_of


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, Any]:
    """Settings with three tokens: of Ana, of a reader of any tenant, of an eraser."""
    entries = [
        {"id": "ana", "tenant": "acme", "user": "ana", "principals": ["staff"], "roles": ["recall", "write"]},
        {"id": "any", "tenants": "*", "user": "*", "principals": "*", "roles": ["recall"]},
        {"id": "eraser", "tenant": "acme", "user": "ana", "roles": ["erase"]},
    ]
    for one in entries:
        one["sha256"] = token_digest(str(one["id"]))
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"tokens": entries}))
    return {"auth": "tokens", "tokens_file": file}


class KnowingHelix(StubHelix):
    """Has every memory that it is asked for."""

    async def states(self, memories: Iterable[str]) -> MemoryStates:
        """Nothing hides any."""
        return MemoryStates(dict.fromkeys(memories, recall_pb2.MemoryState()), 0)


def bearer(token: str, **headers: str) -> dict[str, str]:
    """Headers of a request."""
    return {"authorization": f"Bearer {token}"} | {k.replace("_", "-"): v for k, v in headers.items()}


async def test_the_credential_names_tenant_user_and_principals_and_is_passed_on(tokens: Any) -> None:
    """The request names nothing; the query service gets the token itself."""
    helix = StubHelix()
    async with client_of(helix, **tokens) as client:
        assert (await client.get("/v1/status", headers=bearer("ana"))).status_code == 200
        await client.get("/v1/status", headers=bearer("any", helix_tenant="beta", helix_user="bo"))
    first, second = helix.callers
    assert [first[name] for name in ("tenant", "user", "principals", "token")] == [
        "acme", "ana", ["staff"], "ana",
    ]  # fmt: skip
    assert [second[name] for name in ("tenant", "user", "token")] == ["beta", "bo", "any"]


async def test_no_header_that_is_repeated_is_dropped() -> None:
    """Principals add up, as with commas; of any other name only one can be meant."""
    helix = StubHelix()
    several = [("helix-principals", "staff, board"), ("helix-principals", "press")]
    async with client_of(helix) as client:
        assert (await client.get("/v1/status", headers=several)).status_code == 200
        for name in ("helix-tenant", "helix-user", "helix-project", "helix-time-zone"):
            refused = await client.get("/v1/status", headers=[(name, "a"), (name, "b")])
            assert (refused.status_code, refused.json()["error"]["field"].lower()) == (400, name)
    assert [one["principals"] for one in helix.callers] == [["staff", "board", "press"]]


async def test_a_caller_without_a_credential_gets_none_of_the_gateway() -> None:
    """Without authentication the token is "", which is none; None would be that of the gateway's client."""
    helix = StubHelix()
    async with client_of(helix) as client:
        await client.get("/v1/status", headers=bearer("ana"))
        await client.get("/v1/status")
    assert [one["token"] for one in helix.callers] == ["", ""]


@pytest.mark.parametrize(
    "headers",
    [
        {"helix_tenant": "beta"}, {"helix_user": "bo"}, {"helix_principals": "staff,admins"},
    ],
)  # fmt: skip
async def test_headers_cannot_widen_a_credential(tokens: Any, headers: dict[str, str]) -> None:
    """As for gRPC calls; without authentication the same headers count."""
    async with client_of(StubHelix(), **tokens) as client:
        assert (await client.get("/v1/status", headers=bearer("ana", **headers))).status_code == 403
    async with client_of(StubHelix()) as client:
        assert (await client.get("/v1/status", headers=bearer("ana", **headers))).status_code == 200


@pytest.mark.parametrize("path", ["/v1/status", "/v1/memories", "/mcp", "/mcp/mem0", "/v1/unknown"])
async def test_without_a_valid_credential_nothing_is_reached(tokens: Any, path: str) -> None:
    """Not even the knowledge of which paths there are; health and the document are open."""
    helix = StubHelix()
    async with client_of(helix, **tokens) as client:
        for headers in ({}, bearer("wrong"), {"authorization": "Basic ana"}):
            answer = await client.get(path, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert (await client.get("/v1/openapi.json")).status_code == 200
    assert not helix.callers


async def test_a_role_is_needed_for_each_kind_of_call(tokens: Any) -> None:
    """Reading, writing, erasing; a principal that the caller is not cannot be written for."""

    async def written(*_: object, **__: object) -> Written:
        return Written("e", "m", 1, duplicate=False)

    helix, ids = KnowingHelix(written), {"memories": ["0" * 32]}
    async with client_of(helix, **tokens) as client:

        async def status(token: str, path: str, body: Any) -> int:
            return (await client.post(f"/v1/{path}", json=body, headers=bearer(token))).status_code

        assert await status("ana", "remember", {"text": "x", "acl": ["staff"]}) == 200
        assert await status("ana", "remember", {"text": "x", "acl": ["admins"]}) == 403
        assert await status("ana", "forget", ids) == 200
        assert await status("ana", "forget", {**ids, "acl": ["staff"]}) == 200
        assert await status("ana", "forget", {**ids, "acl": ["admins"]}) == 403
        assert await status("ana", "forget", {**ids, "user": "bo"}) == 400
        assert await status("ana", "erase", ids) == 403
        assert await status("eraser", "erase", ids) == 200
        assert await status("eraser", "recall", {"query": "x"}) == 403
        several = {"text": "x"}
        assert (await client.post("/v1/remember", json=several, headers=bearer("any"))).status_code == 403
    assert [name for name, _, _ in helix.calls] == ["remember", "forget", "forget", "erase"]


async def test_names_in_headers_are_utf8_and_bounded() -> None:
    """The user of a request may have any name that an event may have."""
    helix = StubHelix()
    async with client_of(helix) as client:
        named = [(b"Helix-User", "Zoë".encode()), (b"Helix-Principals", b" staff , ops,")]
        assert (await client.get("/v1/status", headers=named)).status_code == 200
        assert (await client.get("/v1/status", headers=[(b"Helix-User", b"\xff")])).status_code == 400
    assert (helix.callers[0]["user"], helix.callers[0]["principals"]) == ("Zoë", ["staff", "ops"])
    assert helix.callers[0]["tenant"] == "default"


@pytest.mark.parametrize("path", ["/v1/remember", "/mcp", "/hooks/claude-code"])
@pytest.mark.parametrize(
    "name",
    ["Helix-Tenent", "helix_tenant", "HelixTenant", "X-Helix-Tenant", "x_helix_tenant", "X-HELIXTENANT"],
)
async def test_a_header_that_only_looks_like_one_of_helix_is_refused(path: str, name: str) -> None:
    """What is written would else belong to the tenant `default`."""
    helix = StubHelix()
    async with client_of(helix) as client:
        answer = await client.post(path, json={"text": "x"}, headers={name: "acme"})
    told = answer.json()["error"]
    assert (answer.status_code, told["field"]) == (400, name.lower())
    assert "there are Helix-Tenant, Helix-User" in told["reason"]
    assert not helix.callers


def test_a_gateway_that_others_reach_is_protected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Loopback without authentication; never with a user of NATS that everybody would share."""
    monkeypatch.setenv("HELIX_GATEWAY_LISTEN", "0.0.0.0:0")
    with pytest.raises(InvalidInputError, match="HELIX_GATEWAY_LISTEN"):
        create_app()
    with pytest.raises(InvalidInputError, match="HELIX_GATEWAY_AUTH"):
        GatewaySettings.load(nats_credentials_file=tmp_path / "gateway")
