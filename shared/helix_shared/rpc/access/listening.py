"""Binding an address: with TLS where the settings name a certificate, never open to others by accident."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc

from helix_memory.transport.credentials import OTHERS, is_local
from helix_shared.errors import InvalidInputError, TemporaryError

if TYPE_CHECKING:
    from helix_shared.rpc.access.settings import AccessSettings

UNIX: Final = "unix:"


def require_protection(listen: str, settings: AccessSettings, *, setting: str) -> None:
    """Refuse an address that other machines reach without authentication and TLS, unless `insecure` is set.

    Raises:
        InvalidInputError: names the setting of the address.
    """
    if is_local(listen) or settings.insecure:
        return
    prefix = str(settings.model_config.get("env_prefix", ""))
    unless = f"or {prefix}INSECURE=true if something else protects the port"
    if not settings.modes:
        reason = (
            f"other machines reach {listen} and {prefix}AUTH is off: listen on 127.0.0.1, set {prefix}AUTH,"
        )
        raise InvalidInputError(setting, f"{reason} {unless}")
    if settings.tls_cert_file is None:
        reason = (
            f"other machines reach {listen} and tokens would be sent in the clear: set {prefix}TLS_CERT_FILE,"
        )
        raise InvalidInputError(setting, f"{reason} {unless}")


def bind(server: Any, listen: str, settings: AccessSettings | None) -> int:
    """Add an address to a gRPC server; returns the port, 0 for a Unix socket.

    Raises:
        TemporaryError: the address cannot be bound.
        InvalidInputError: a file of the settings cannot be used.
    """
    try:
        if settings is None or settings.tls_cert_file is None:
            port = server.add_insecure_port(listen)
        else:
            port = server.add_secure_port(listen, _server_credentials(settings))
    except RuntimeError as error:
        raise TemporaryError(f"cannot listen on {listen}: is another server there?") from error
    return 0 if listen.startswith(UNIX) else int(port)


def _server_credentials(settings: AccessSettings) -> grpc.ServerCredentials:
    prefix = str(settings.model_config.get("env_prefix", ""))
    key = _content(settings.tls_key_file, f"{prefix}TLS_KEY_FILE", is_secret=True)
    chain = _content(settings.tls_cert_file, f"{prefix}TLS_CERT_FILE")
    if settings.tls_client_ca_file is None:
        return grpc.ssl_server_credentials([(key, chain)])
    authority = _content(settings.tls_client_ca_file, f"{prefix}TLS_CLIENT_CA_FILE")
    return grpc.ssl_server_credentials([(key, chain)], root_certificates=authority, require_client_auth=True)


def _content(path: Path | None, setting: str, *, is_secret: bool = False) -> bytes:
    """The file of a setting; one with a secret must not be open to others."""
    if path is None:
        raise InvalidInputError(setting, "is missing")
    try:
        if is_secret and path.stat().st_mode & OTHERS:
            raise InvalidInputError(setting, f"others may read or write {path}: chmod 600")
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(setting, f"{path} cannot be read: {error.strerror}") from error
