"""Keys and tokens made for a test."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER, AUDIENCE = "https://issuer.example", "helix"


def claims(**own: Any) -> dict[str, Any]:
    """Valid claims; a value of None leaves a claim out."""
    usual = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": time.time() + 60,
        "sub": "ana@example",
        "tenant": "acme",
        "user": "ana",
        "principals": ["team:a"],
        "roles": ["recall"],
    }
    return {name: value for name, value in (usual | own).items() if value is not None}


def private_key(kind: str) -> Any:
    """A new key of the kind RSA, EC or OKP."""
    if kind == "RSA":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1()) if kind == "EC" else ed25519.Ed25519PrivateKey.generate()


def pem(key: Any) -> bytes:
    """The public key."""
    body: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return body


def jwks(**keys: Any) -> bytes:
    """A key set of private keys by their ids; only the public halves are in it."""
    algorithms = {
        rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
        ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
        ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
    }
    entries = []
    for kid, key in keys.items():
        kind = next(algorithm for base, algorithm in algorithms.items() if isinstance(key, base))
        entries.append({**json.loads(kind.to_jwk(key.public_key())), "kid": kid, "use": "sig"})
    return json.dumps({"keys": entries}).encode()


def write_secret(path: Path, content: str | bytes) -> Path:
    """A file that nobody else may read."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(0o600)
    return path
