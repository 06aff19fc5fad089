"""JSON web tokens: signed by a key of a file, which is one public key (PEM) or a key set (JWKS).

The algorithm follows from the key, never from the token alone: RS256 for RSA, ES256 for P-256, EdDSA for
Ed25519. A symmetric key of a set is left out. `exp`, `iss` and `aud` are required. `helix security jwks`
fetches the key set of an OIDC issuer; the service that checks tokens opens no connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from helix_shared.errors import InvalidInputError, UnauthenticatedError
from helix_shared.rpc.access.claims import credential_of
from helix_shared.rpc.access.credential import Credential

LEAST_RSA_BITS: Final = 2048
REQUIRED: Final = ("exp", "iss", "aud")
SUBJECT_CHARACTERS: Final = 128


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key, its id in the set, and the one algorithm it is used with."""

    id: str
    key: Any
    algorithm: str


@dataclass(frozen=True, slots=True)
class JwtRules:
    """What a token must say; `claim_prefix` stands before the names of the claims of Helix."""

    issuer: str
    audience: str
    leeway_seconds: float
    claim_prefix: str = ""


def parse_keys(body: bytes) -> tuple[SigningKey, ...]:
    """The keys of a PEM file or of a JWKS.

    Raises:
        InvalidInputError: there is no public key of a kind that is used.
    """
    if body.lstrip().startswith(b"-----BEGIN"):
        try:
            key = load_pem_public_key(body)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise InvalidInputError("key", "is no public key in PEM form") from error
        if (algorithm := _algorithm_of(key)) is None:
            raise InvalidInputError("key", f"must be RSA of {LEAST_RSA_BITS} bits or more, P-256 or Ed25519")
        return (SigningKey("", key, algorithm),)
    try:
        entries = json.loads(body)["keys"]
        found = tuple(one for entry in entries if (one := _jwk(entry)) is not None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError("keys", "is neither a PEM public key nor a JWKS") from error
    if not found:
        raise InvalidInputError("keys", "has no RSA, P-256 or Ed25519 key for signatures")
    return found


def verified(token: str, keys: tuple[SigningKey, ...], rules: JwtRules) -> Credential:
    """The credential of a token whose signature and claims hold.

    Raises:
        UnauthenticatedError: they do not; the message is the reason, for the log alone.
    """
    try:
        header = jwt.get_unverified_header(token)
        key = _key_of(keys, header)
        claims = jwt.decode(
            token,
            key.key,
            algorithms=[key.algorithm],
            issuer=rules.issuer,
            audience=rules.audience,
            leeway=rules.leeway_seconds,
            options={"require": list(REQUIRED)},
        )
        own = _own_claims(claims, rules.claim_prefix)
        subject = str(claims.get("sub", ""))[:SUBJECT_CHARACTERS]
        return credential_of(own, identity=f"jwt:{subject}")
    except jwt.PyJWTError as error:
        raise UnauthenticatedError(type(error).__name__) from error
    except InvalidInputError as error:
        raise UnauthenticatedError(f"claim {error.field}") from error


def _own_claims(claims: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    names = ("tenant", "tenants", "user", "principals", "roles")
    return {name: claims[prefix + name] for name in names if prefix + name in claims}


def _key_of(keys: tuple[SigningKey, ...], header: Mapping[str, Any]) -> SigningKey:
    """The key with the id and algorithm of the header; without an id, the only one of the algorithm."""
    fitting = [one for one in keys if one.algorithm == header.get("alg")]
    if kid := header.get("kid"):
        # a PEM file gives no id
        fitting = [one for one in fitting if one.id in ("", kid)]
    if len(fitting) != 1:
        raise UnauthenticatedError("no key for this token" if not fitting else "several keys fit")
    return fitting[0]


def _jwk(entry: Mapping[str, Any]) -> SigningKey | None:
    """A key of a set; None: it is not used."""
    if entry.get("use", "sig") != "sig" or entry.get("kty") not in ("RSA", "EC", "OKP"):
        return None
    try:
        key = jwt.PyJWK.from_dict(dict(entry)).key
    except jwt.PyJWTError:
        return None
    algorithm = _algorithm_of(key)
    if algorithm is None or entry.get("alg", algorithm) != algorithm:
        return None
    return SigningKey(str(entry.get("kid", "")), key, algorithm)


def _algorithm_of(key: Any) -> str | None:
    if isinstance(key, RSAPublicKey):
        return "RS256" if key.key_size >= LEAST_RSA_BITS else None
    if isinstance(key, EllipticCurvePublicKey):
        return "ES256" if isinstance(key.curve, SECP256R1) else None
    return "EdDSA" if isinstance(key, Ed25519PublicKey) else None
