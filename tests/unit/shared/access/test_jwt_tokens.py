import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
import pytest

from helix_shared.errors import InvalidInputError, UnauthenticatedError
from helix_shared.rpc.access.jwt_tokens import JwtRules, parse_keys, verified

from .keys import AUDIENCE, ISSUER, claims, jwks, pem, private_key

RULES = JwtRules(ISSUER, AUDIENCE, leeway_seconds=30)
ALGORITHMS = {"RSA": "RS256", "EC": "ES256", "OKP": "EdDSA"}
KEYS = {kind: private_key(kind) for kind in ALGORITHMS}
RSA_KEYS = parse_keys(pem(KEYS["RSA"]))


def signed(own: dict[str, Any], *, kind: str = "RSA", **headers: Any) -> str:
    """A token signed by the key of a kind."""
    return jwt.encode(own, KEYS[kind], algorithm=ALGORITHMS[kind], headers=headers or None)


def from_now(own: dict[str, Any]) -> dict[str, Any]:
    """`exp` and `nbf` are given in seconds from now, when the test runs."""
    times = {name: time.time() + own[name] for name in ("exp", "nbf") if own.get(name) is not None}
    return own | times


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_a_token_of_every_kind_of_key_stands_for_its_claims(kind: str) -> None:
    """Tenant, user, principals and roles come from the claims."""
    found = verified(signed(claims(), kind=kind), parse_keys(pem(KEYS[kind])), RULES)
    assert found.tenants == {"acme"}
    assert (found.user, found.principals, found.roles) == ("ana", {"team:a"}, {"recall"})
    assert found.id == "jwt:ana@example"


@pytest.mark.parametrize(
    "own",
    [
        {"exp": None},
        {"iss": None},
        {"aud": None},
        {"exp": -31},
        {"nbf": 90},
        {"iss": "https://other.example"},
        {"aud": "another service"},
        {"tenant": "not a token!"},
        {"tenant": 7},
        {"tenants": ["acme"]},
        {"tenant": ["acme", "*"]},
        {"user": 7},
        {"user": "a\nb"},
        {"principals": "x" * 300},
        {"roles": 1},
    ],
)
def test_a_token_with_a_broken_claim_is_refused(own: dict[str, Any]) -> None:
    """Expired, too early, for somebody else, or of another form; the control is the token above."""
    with pytest.raises(UnauthenticatedError):
        verified(signed(claims(**from_now(own))), RSA_KEYS, RULES)


@pytest.mark.parametrize("own", [{"exp": -10}, {"nbf": 10}])
def test_clocks_may_differ_by_the_leeway(own: dict[str, Any]) -> None:
    """The clock of an issuer is not that of the server."""
    assert verified(signed(claims(**from_now(own))), RSA_KEYS, RULES).tenants == {"acme"}


def test_an_unsigned_token_is_refused() -> None:
    """The algorithm `none` is never accepted."""
    token = jwt.encode(claims(), None, algorithm="none")
    with pytest.raises(UnauthenticatedError):
        verified(token, RSA_KEYS, RULES)


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused() -> None:
    """The classic confusion: HS256 over the bytes of a public key that everybody knows."""

    def encoded(part: bytes) -> bytes:
        return base64.urlsafe_b64encode(part).rstrip(b"=")

    body = b".".join(
        encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims())
    )
    forged = body + b"." + encoded(hmac.new(pem(KEYS["RSA"]), body, hashlib.sha256).digest())
    with pytest.raises(UnauthenticatedError):
        verified(forged.decode(), RSA_KEYS, RULES)


def test_a_token_of_another_key_is_refused() -> None:
    """A signature counts only under the configured key."""
    with pytest.raises(UnauthenticatedError):
        verified(signed(claims()), parse_keys(pem(private_key("RSA"))), RULES)


def test_a_key_set_finds_the_key_by_its_id() -> None:
    """Issuers rotate keys: several are valid at once, and the header names one."""
    keys = parse_keys(jwks(old=private_key("RSA"), new=KEYS["RSA"], curve=KEYS["EC"]))
    assert verified(signed(claims(), kid="new"), keys, RULES).user == "ana"
    assert verified(signed(claims(), kind="EC"), keys, RULES).user == "ana"
    for wrong in ({"kid": "old"}, {"kid": "unknown"}, {}):
        with pytest.raises(UnauthenticatedError):
            verified(signed(claims(), **wrong), keys, RULES)


def test_a_symmetric_key_of_a_set_is_left_out() -> None:
    """Whoever can check with it could sign with it."""
    secret = {"kty": "oct", "kid": "s", "k": "c2VjcmV0", "use": "sig"}
    with pytest.raises(InvalidInputError, match="no RSA, P-256 or Ed25519"):
        parse_keys(json.dumps({"keys": [secret]}).encode())


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b'{"keys": 1}', b"-----BEGIN nothing", b"\xff", b"[" * 100_000]
)
def test_a_file_without_keys_is_refused(body: bytes) -> None:
    """A service does not start with keys that check nothing."""
    with pytest.raises(InvalidInputError):
        parse_keys(body)


def test_claims_may_have_a_prefix() -> None:
    """Issuers allow own claims only under a name space."""
    own = claims(tenant=None, user=None, principals=None, roles=None)
    own |= {"https://helix/tenant": "acme", "https://helix/roles": "recall other:role"}
    rules = JwtRules(ISSUER, AUDIENCE, 30, claim_prefix="https://helix/")
    found = verified(signed(own), RSA_KEYS, rules)
    assert (found.tenants, found.user, found.roles) == ({"acme"}, "", {"recall"})
