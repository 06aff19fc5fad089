import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.credentials import KEEPALIVE
from helix_query.settings import QuerySettings
from helix_shared.errors import DeniedError, InvalidInputError, UnauthenticatedError
from helix_shared.rpc.access import admission
from helix_shared.rpc.access.admission import Admission
from helix_shared.rpc.access.authenticator import REFUSED, Authenticator
from helix_shared.rpc.access.claims import credential_of
from helix_shared.rpc.access.listening import require_protection
from helix_shared.rpc.access.static_tokens import matching, parse_tokens, token_digest
from helix_shared.rpc.server import OPTIONS

from .keys import write_secret

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def entry(token: str, **fields: Any) -> dict[str, Any]:
    """An entry of the file of tokens."""
    return {
        "id": "t-1",
        "sha256": token_digest(token),
        "tenant": "acme",
        "user": "ana",
        "roles": ["recall"],
    } | fields


def tokens_file(path: Path, *entries: dict[str, Any]) -> Path:
    """A file with these entries."""
    return write_secret(path, json.dumps({"tokens": list(entries)}))


def bound(claims: dict[str, Any], **scope: Any) -> tuple[str, str, list[str]]:
    """The scope that a credential gives to a request."""
    message = recall_pb2.Scope(**scope)
    credential_of(claims, identity="x").bound(message)
    return message.tenant_id, message.user_id, list(message.principals)


ANA = {"tenant": "acme", "user": "ana", "principals": ["b", "a"]}
GATEWAY = {"tenants": ["acme", "beta"], "user": "*", "principals": "*"}


@pytest.mark.parametrize(
    ("claims", "scope", "expected"),
    [
        (ANA, {}, ("acme", "ana", ["a", "b"])),
        (ANA, {"tenant_id": "acme", "user_id": "ana", "principals": ["a"]}, ("acme", "ana", ["a"])),
        ({"tenant": "acme"}, {}, ("acme", "", [])),
        (GATEWAY, {"tenant_id": "beta", "user_id": "bo", "principals": ["x"]}, ("beta", "bo", ["x"])),
        (GATEWAY, {}, ("", "", [])),
        ({"tenant": "*"}, {"tenant_id": "any"}, ("any", "", [])),
    ],
)
def test_a_scope_takes_what_it_leaves_out_from_the_credential(
    claims: dict[str, Any], scope: dict[str, Any], expected: tuple[str, str, list[str]]
) -> None:
    """The credential decides; a gateway's credential lets the request decide within its bounds."""
    assert bound(claims, **scope) == expected


@pytest.mark.parametrize(
    ("claims", "scope"),
    [
        (ANA, {"tenant_id": "beta"}),
        (ANA, {"tenant_id": "ACME"}),
        (ANA, {"user_id": "bo"}),
        (ANA, {"principals": ["a", "c"]}),
        (GATEWAY, {"tenant_id": "gamma"}),
        ({"tenant": "acme"}, {"user_id": "ana"}),
        ({"tenant": "acme"}, {"principals": ["a"]}),
        ({}, {"tenant_id": "acme"}),
        ({"tenant": "acme", "user": "*"}, {"principals": ["admins"]}),
    ],
)
def test_a_scope_that_names_something_else_is_denied(claims: dict[str, Any], scope: dict[str, Any]) -> None:
    """The message is the same whatever differs."""
    with pytest.raises(DeniedError, match=r"^the credential does not allow this scope$"):
        bound(claims, **scope)


def test_a_static_token_is_found_until_it_expires() -> None:
    """The file has the hash, never the token."""
    tokens = parse_tokens(
        json.dumps({"tokens": [entry("s3cret", expires_at="2026-11-25T00:00:00Z")]}).encode()
    )
    found = matching(tokens, "s3cret", now=NOW)
    assert found is not None
    assert found.tenants == {"acme"}
    assert matching(tokens, "s3cret", now=datetime(2026, 11, 25, tzinfo=UTC)) is None
    assert matching(tokens, "other", now=NOW) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"id": "a b"},
        {"id": 7},
        {"sha256": "00"},
        {"sha256": "s3cret"},
        {"roles": []},
        {"roles": ["root"]},
        {"tenant": ""},
        {"tenant": "a.b"},
        {"expires_at": "tomorrow"},
        {"token": "s3cret"},
        {"user": None},
    ],
)
def test_a_broken_entry_stops_the_start_and_is_named(broken: dict[str, Any]) -> None:
    """A file that is half understood would be half enforced."""
    with pytest.raises(InvalidInputError, match=r"^tokens\.0\."):
        parse_tokens(json.dumps({"tokens": [entry("x") | broken]}).encode())


def authenticator(path: Path) -> Authenticator:
    """Checks the tokens of a file."""
    return Authenticator(QuerySettings(auth="tokens", tokens_file=path))


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", ""),),
        (("authorization", "Bearer "),),
        (("authorization", "Bearer wrong"),),
        (("authorization", "Basic s3cret"),),
        (("authorization", "Bearer s3cret"), ("authorization", "Bearer s3cret")),
        (("authorization-bin", b"Bearer s3cret"),),
        (("x-tenant", "acme"),),
    ],
)
def test_every_refused_token_gets_the_same_message(tmp_path: Path, metadata: Any) -> None:
    """A caller does not learn what was wrong; the control is the valid token."""
    checks = authenticator(tokens_file(tmp_path / "tokens.json", entry("s3cret")))
    assert checks.authenticate((("authorization", "bearer s3cret"),)).id == "t-1"
    with pytest.raises(UnauthenticatedError) as refused:
        checks.authenticate(metadata)
    assert str(refused.value) == REFUSED


def test_a_changed_file_counts_at_once_and_a_broken_one_admits_nobody(tmp_path: Path) -> None:
    """A token is revoked by removing its entry; a file that cannot be read revokes all."""
    path = tokens_file(tmp_path / "tokens.json", entry("old"))
    checks = authenticator(path)
    old, new = ((("authorization", f"Bearer {token}"),) for token in ("old", "new"))
    assert checks.authenticate(old).id == "t-1"
    tokens_file(path, entry("new", id="t-2-longer"))
    assert checks.authenticate(new).id == "t-2-longer"
    with pytest.raises(UnauthenticatedError):
        checks.authenticate(old)
    for broken in ("{", '{"tokens": ' + "[" * 100_000):  # the parser raises RecursionError
        tokens_file(path, entry("new", id="t-2"))
        assert checks.authenticate(new).id == "t-2"
        path.write_text(broken)
        for _ in range(2):
            with pytest.raises(UnauthenticatedError):
                checks.authenticate(new)
    tokens_file(path, entry("new"))
    assert checks.authenticate(new).id == "t-1"
    path.unlink()
    with pytest.raises(UnauthenticatedError):
        checks.authenticate(new)


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """Whoever can add an entry can act for every tenant."""
    path = tokens_file(tmp_path / "tokens.json", entry("x"))
    path.chmod(0o666)
    with pytest.raises(InvalidInputError, match="HELIX_QUERY_TOKENS_FILE: others may write"):
        authenticator(path)


def test_a_mode_without_its_file_admits_nobody() -> None:
    """Also where settings are made in code, without the check of `load`."""
    with pytest.raises(UnauthenticatedError):
        Authenticator(QuerySettings(auth="tokens")).authenticate((("authorization", "Bearer x"),))


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({"auth": "tokens"}, "TOKENS_FILE"),
        ({"auth": "jwt"}, "JWT_KEYS_FILE"),
        ({"auth": "jwt", "jwt_keys_file": "k"}, "JWT_ISSUER"),
        ({"auth": "jwt", "jwt_keys_file": "k", "jwt_issuer": "i"}, "JWT_AUDIENCE"),
        ({"tls_cert_file": "c"}, "TLS_KEY_FILE"),
        ({"tls_client_ca_file": "c"}, "TLS_CERT_FILE"),
    ],
)
def test_a_setting_that_another_one_needs_is_named(fields: dict[str, str], missing: str) -> None:
    """Half of a configuration does not start."""
    with pytest.raises(InvalidInputError, match=f"^HELIX_QUERY_{missing}: is missing"):
        QuerySettings.load(**fields)


@pytest.mark.parametrize(
    ("listen", "fields", "refused"),
    [
        ("127.0.0.1:7461", {}, ""),
        ("127.8.9.1:7461", {}, ""),
        ("[::1]:7461", {}, ""),
        ("localhost:7461", {}, ""),
        ("unix:/run/helix.sock", {}, ""),
        ("0.0.0.0:7461", {}, "HELIX_QUERY_AUTH"),
        ("[::]:7461", {}, "HELIX_QUERY_AUTH"),
        ("10.1.2.3:7461", {}, "HELIX_QUERY_AUTH"),
        ("localhost.example.org:7461", {}, "HELIX_QUERY_AUTH"),
        ("0.0.0.0:7461", {"insecure": True}, ""),
        ("0.0.0.0:7461", {"auth": "tokens", "tokens_file": "t"}, "HELIX_QUERY_TLS_CERT_FILE"),
        ("0.0.0.0:7461", {"auth": "tokens", "tokens_file": "t", "tls_cert_file": "c"}, ""),
        ("0.0.0.0:7461", {"tls_cert_file": "c"}, "HELIX_QUERY_AUTH"),
    ],
)
def test_without_authentication_only_loopback_is_accepted(
    listen: str, fields: dict[str, Any], refused: str
) -> None:
    """An open address needs authentication and TLS, or the word of the operator."""
    settings = QuerySettings(**fields)
    if not refused:
        require_protection(listen, settings, setting="HELIX_QUERY_LISTEN")
        return
    with pytest.raises(InvalidInputError, match=f"^HELIX_QUERY_LISTEN: .*{refused}"):
        require_protection(listen, settings, setting="HELIX_QUERY_LISTEN")


async def test_a_stream_that_waits_ends_when_its_token_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller had been admitted once; what came afterwards was for it, too."""
    monkeypatch.setattr(admission, "RECHECK_SECONDS", 0.01)
    path = tokens_file(tmp_path / "tokens.json", entry("old", roles=["service"]))
    arrived: asyncio.Queue[str] = asyncio.Queue()

    async def call(_request: Any, _context: Any) -> AsyncIterator[str]:
        while True:
            yield await arrived.get()

    context = SimpleNamespace(invocation_metadata=lambda: (("authorization", "Bearer old"),))
    checks = Admission(QuerySettings(auth="tokens", tokens_file=path))
    stream = checks.checked_stream(call, recall_pb2.StreamAccessesRequest, "service")
    replies = stream(recall_pb2.StreamAccessesRequest(), context)
    arrived.put_nowait("for the old token")
    assert await anext(replies) == "for the old token"
    waits = asyncio.create_task(anext(replies))  # type: ignore[arg-type]  # a coroutine
    await asyncio.sleep(0)
    tokens_file(path, entry("new", id="t-2-longer", roles=["service"]))
    async with asyncio.timeout(60):
        with pytest.raises(UnauthenticatedError):
            await waits


def test_a_request_without_a_scope_cannot_be_served_by_accident() -> None:
    """A new request type whose scope nobody finds stops the start."""
    admission = Admission(QuerySettings())
    with pytest.raises(TypeError, match="has no scope"):
        admission.checked(None, recall_pb2.Memory, "recall")  # type: ignore[arg-type]  # never called


def test_the_server_takes_pings_as_often_as_clients_send_them() -> None:
    """Without pings a client never learns that its connection has gone; with too many it is sent away."""
    sent, taken = dict(KEEPALIVE), dict(OPTIONS)
    assert 0 < taken["grpc.http2.min_ping_interval_without_data_ms"] < sent["grpc.keepalive_time_ms"]
    for side in (sent, taken):
        assert side["grpc.keepalive_permit_without_calls"] == 1
