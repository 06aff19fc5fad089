"""An authority of its own, and certificates for NATS and the gRPC services; P-256, SHA-256."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from helix_shared.errors import InvalidInputError

Certificates = tuple[x509.Certificate, ...]
AUTHORITY_DAYS: Final = 3_650
DAYS: Final = 825
LOCAL: Final = ("localhost", "127.0.0.1", "::1")
"""Names that every certificate has."""
EARLIER: Final = timedelta(minutes=5)
"""Valid from, before now: clocks differ."""


def new_authority(*, name: str = "Helix", now: datetime | None = None) -> tuple[bytes, bytes]:
    """Certificate and key (PEM) of a new authority."""
    start = now or datetime.now(UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = (
        _builder(subject, subject, key, start, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(Encoding.PEM), _pem(key)


def new_certificate(
    authority: tuple[bytes, bytes], names: Sequence[str], *, now: datetime | None = None
) -> tuple[bytes, bytes]:
    """Certificate and key (PEM), of an authority, for host names and addresses; of a server or a caller.

    Raises:
        InvalidInputError: a name is no host name.
    """
    issuer = x509.load_pem_x509_certificate(authority[0])
    issuer_key = cast("ec.EllipticCurvePrivateKey", load_pem_private_key(authority[1], password=None))
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    built = (
        _builder(subject, issuer.subject, key, now or datetime.now(UTC), DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general_name(one) for one in names]), critical=False)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    return built.public_bytes(Encoding.PEM), _pem(key)


def fingerprint(certificate: bytes) -> tuple[str, datetime]:
    """SHA-256 of a certificate (PEM), and when it ends.

    Raises:
        InvalidInputError: it is no certificate.
    """
    loaded = read_certificates(certificate)[0]
    return loaded.fingerprint(hashes.SHA256()).hex(), loaded.not_valid_after_utc


def read_certificates(content: bytes) -> Certificates:
    """The certificates of a file (PEM), at least one; the first is that of the server or the authority.

    Raises:
        InvalidInputError: it holds none, or a damaged one.
    """
    try:
        return tuple(x509.load_pem_x509_certificates(content))
    except ValueError as error:
        raise InvalidInputError("certificate", "is no certificate in PEM form") from error


def is_issued_by(chain: Certificates, authorities: Certificates) -> bool:
    """Whether an authority has signed the first certificate, directly or through others of the chain."""
    current, left = chain[0], list(chain[1:])
    while not any(_signed(current, by) for by in authorities):
        issuer = next((one for one in left if _signed(current, one)), None)
        if issuer is None:
            return False
        left.remove(issuer)
        current = issuer
    return True


def key_belongs(key: bytes, certificate: x509.Certificate) -> bool:
    """Whether a private key (PEM, without a password) is that of a certificate.

    Raises:
        InvalidInputError: it is no such key.
    """
    try:
        loaded = load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidInputError("key", "is no private key in PEM form without a password") from error
    return _bytes_of(loaded.public_key()) == _bytes_of(certificate.public_key())


def _signed(certificate: x509.Certificate, by: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(by)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _bytes_of(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, start: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - EARLIER)
        .not_valid_after(start + timedelta(days=days))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError as error:
        raise InvalidInputError("host", f"{name!r} is no host name") from error


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
