"""Credentials of a caller: of calls to the query service (token, TLS) and of NATS (user, TLS).

Secrets come from files, so that no command line and no log holds them; a token may also be given as such. A
file with a secret must not be open to others. The file of a token is read at every call.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from helix_memory.errors import InvalidInputError, UnauthenticatedError
from helix_memory.trace_context import carried

if TYPE_CHECKING:
    import grpc

OTHERS: Final = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP
"""Permissions that a file with a secret must not have."""
TOKEN_KEY: Final = "authorization"  # noqa: S105  the name of metadata, no password
TENANT_USER: Final = "tenant-"
"""Prefix of the user that publishes for a tenant."""
INBOX: Final = "_INBOX_"
"""Prefix of the inbox of a NATS user, followed by its name without its number."""
KEEPALIVE: Final = (
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
"""A connection that has disappeared is noticed and made anew; else every later call would wait in vain."""
RECONNECT: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
"""By default gRPC waits up to 120 s before it tries an address again, and calls fail although it answers."""
NO_PROXY: Final = ("grpc.enable_http_proxy", 0)
"""gRPC would reach this machine's own services through the proxy that `http_proxy` names."""
_LOGIN: Final = re.compile(r"(?:(?<=//)|(?<=\s)|^)[^/\s]*@")
"""What stands before the host in an address."""


class UnusableFileError(InvalidInputError):
    """A file of own credentials cannot be used; nothing that is sent is wrong."""


class RefusedUserError(UnauthenticatedError):
    """NATS refuses its own user, whoever that acts for."""


@dataclass(frozen=True, slots=True)
class CallCredentials:
    """How a gRPC service is called. Without anything: in the clear and without a token."""

    token: str = ""
    token_file: Path | None = None
    ca_file: Path | None = None
    """CA that signed the certificate of the server; with `tls` alone, those of the system."""
    cert_file: Path | None = None
    key_file: Path | None = None
    """Certificate of the caller and its key, for mTLS."""
    tls: bool = False

    @property
    def is_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.tls or self.ca_file is not None or self.cert_file is not None

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of one call: token, and trace of the caller.

        Raises:
            InvalidInputError: the file of the token cannot be used.
        """
        token = self.token or (secret_of(self.token_file, "token_file") if self.token_file else "")
        return (*(((TOKEN_KEY, f"Bearer {token}"),) if token else ()), *carried().items())

    def channel(self, address: str, options: Sequence[tuple[str, Any]] = ()) -> grpc.Channel:
        """A connection to a service.

        Raises:
            InvalidInputError: a file cannot be used, or a token would go to another machine in the clear.
        """
        import grpc  # noqa: PLC0415  slow to import, and NATS alone does not need it

        self.require_safe(address)
        if self.is_tls:
            return grpc.secure_channel(
                address, self._channel_credentials(), options=_with_defaults(address, options)
            )
        return grpc.insecure_channel(address, options=_with_defaults(address, options))

    def aio_channel(self, address: str, options: Sequence[tuple[str, Any]] = ()) -> grpc.aio.Channel:
        """As `channel`, for asyncio."""
        import grpc.aio  # noqa: PLC0415  as above

        self.require_safe(address)
        if self.is_tls:
            return grpc.aio.secure_channel(
                address, self._channel_credentials(), options=_with_defaults(address, options)
            )
        return grpc.aio.insecure_channel(address, options=_with_defaults(address, options))

    def require_safe(self, address: str) -> None:
        """Refuse to send a token to another machine in the clear.

        Raises:
            InvalidInputError: that would happen.
        """
        if (self.token or self.token_file) and not self.is_tls and not is_local(address):
            raise InvalidInputError("token", f"would be sent in the clear to {address}; use TLS")

    def _channel_credentials(self) -> grpc.ChannelCredentials:
        import grpc  # noqa: PLC0415  as above

        if (self.cert_file is None) != (self.key_file is None):
            raise UnusableFileError("key_file", "belongs to cert_file: give both")
        return grpc.ssl_channel_credentials(
            _content(self.ca_file, "ca_file"),
            secret_of(self.key_file, "key_file").encode() if self.key_file else None,
            _content(self.cert_file, "cert_file"),
        )


@dataclass(frozen=True, slots=True)
class NatsCredentials:
    """The user of NATS, from a file with one line `user:password`, and the CA of the server for TLS."""

    credentials_file: Path | None = None
    ca_file: Path | None = None

    @property
    def is_of_tenant(self) -> bool:
        """Whether it is the publisher of one tenant, which may read nothing but its own dead letters.

        Raises:
            InvalidInputError: the file cannot be used.
        """
        return bool(self.tenant)

    @property
    def tenant(self) -> str:
        """That tenant; empty: it is no publisher of a tenant.

        Raises:
            InvalidInputError: the file cannot be used.
        """
        user = self.user()[0] if self.credentials_file else ""
        return user.removeprefix(TENANT_USER).partition(".")[0] if user.startswith(TENANT_USER) else ""

    @property
    def id_secret(self) -> str:
        """What binds the ids of events to this user (`subjects.bound_message_id`); empty without a user.

        Raises:
            InvalidInputError: the file cannot be used.
        """
        return self.user()[1] if self.credentials_file else ""

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `nats.connect`. A user has its own prefix of inboxes, which it alone may read.

        Raises:
            InvalidInputError: a file cannot be used.
        """
        options: dict[str, Any] = {}
        if self.ca_file is not None:
            # handshake first: a false server could otherwise say that it has no TLS, and get the password
            options |= {"tls": tls_context(self.ca_file), "tls_handshake_first": True}
        if self.credentials_file is not None:
            user, password = self.user()
            options |= {"user": user, "password": password, "inbox_prefix": inbox_of(user).encode()}
        return options

    def user(self) -> tuple[str, str]:
        """Name and password.

        Raises:
            InvalidInputError: the file cannot be used.
        """
        user, _, password = secret_of(self.credentials_file, "credentials_file").partition(":")
        if not user or not password:
            reason = f"{self.credentials_file} must hold one line, user:password"
            raise UnusableFileError("credentials_file", reason)
        return user, password


def inbox_of(user: str) -> str:
    """Prefix of the inboxes of a NATS user; `ingest.2` is the second secret of the user `ingest`."""
    return f"{INBOX}{user.partition('.')[0]}"


def tls_context(ca_file: Path) -> ssl.SSLContext:
    """TLS towards NATS: the server must have a certificate of this CA for its name.

    Raises:
        InvalidInputError: the file cannot be used.
    """
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise UnusableFileError("ca_file", f"{ca_file} is no certificate: {error}") from error


def secret_of(path: Path | None, field: str) -> str:
    """The content of a file with a secret, without white space around it.

    Raises:
        InvalidInputError: it cannot be read, is empty, or is open to others.
    """
    try:
        if path is None:
            raise UnusableFileError(field, "is missing")
        if path.stat().st_mode & OTHERS:
            raise UnusableFileError(field, f"others may read or write {path}: chmod 600")
        content = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableFileError(field, f"{path} cannot be read: {error}") from error
    if not content:
        raise UnusableFileError(field, f"{path} is empty")
    return content


def _with_defaults(address: str, options: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [*KEEPALIVE, *RECONNECT, *([NO_PROXY] if is_local(address) else []), *options]


def shown(url: str) -> str:
    """The address of a server for people and logs: without a user, password or token in it."""
    return _LOGIN.sub("***@", url)


def is_local(address: str) -> bool:
    """Whether an address, host:port or unix:path, is of this machine."""
    return address.startswith("unix:") or is_loopback(address.rpartition(":")[0])


def is_loopback(host: str) -> bool:
    """Whether a name or an address, that of IPv6 with brackets or without, means this machine alone."""
    host = host.strip("[]")
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _content(path: Path | None, field: str) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise UnusableFileError(field, f"{path} cannot be read: {error.strerror}") from error
