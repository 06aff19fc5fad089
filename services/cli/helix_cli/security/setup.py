"""Making and renewing the security folder; every step leaves files that work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helix_cli.security.certificates import (
    LOCAL,
    fingerprint,
    key_belongs,
    new_authority,
    new_certificate,
    read_certificates,
)
from helix_cli.security.folder import write_secret
from helix_cli.security.tokens import end_older_own_tokens, renew_own_tokens
from helix_cli.security.users import State, User, read_state
from helix_memory.recall import checks
from helix_memory.transport.credentials import TENANT_USER
from helix_shared.errors import InvalidInputError, PermanentError
from helix_shared.rpc.access.credential import ERASE, WRITE

if TYPE_CHECKING:
    from helix_cli.security.folder import SecurityFolder

ROLES_OF_PUBLISHERS = (WRITE, ERASE)
GivenFiles = tuple[Path, Path, Path]
"""Certificate, key and authority that somebody else made."""


def init(
    folder: SecurityFolder,
    *,
    tenants: Mapping[str, Sequence[str]],
    hosts: Sequence[str] = (),
    given: GivenFiles | None = None,
) -> list[str]:
    """Make the folder, or add tenants to it; returns the tenants that are new.

    `tenants` has the roles of each publisher. `given` files are copied, else certificates are made.

    Raises:
        InvalidInputError: a tenant, role, host or file is invalid, or the folder has a certificate.
    """
    for tenant, roles in tenants.items():
        checks.tenant(tenant)
        if not roles or set(roles) - set(ROLES_OF_PUBLISHERS):
            raise InvalidInputError(
                "--tenant", f"roles of {tenant} must be of: {', '.join(ROLES_OF_PUBLISHERS)}"
            )
    with folder.locked():
        is_new = not folder.exists
        state = State.empty() if is_new else read_state(folder)
        if is_new:
            _first_files(folder, state, hosts, given)
        elif hosts or given:
            raise InvalidInputError("--host", "the folder has a certificate; remove it to begin again")
        added = [tenant for tenant in tenants if TENANT_USER + tenant not in state.users]
        for tenant in added:
            name = TENANT_USER + tenant
            state.users[name] = User(name, tenant, tuple(sorted(set(tenants[tenant]))))
        state.renew(folder, [user for user in state.users.values() if not user.hashes])
    return added


def begin_rotation(folder: SecurityFolder) -> int:
    """New secrets of all services beside the valid ones, and a new certificate; returns the rotation.

    Raises:
        PermanentError: there is no folder, another rotation has not ended, or the authority has no key.
    """
    with folder.locked():
        state = read_state(folder)
        if state.is_rotating:
            raise PermanentError("a rotation has not ended: `helix up` has not restarted its services yet")
        if state.own_authority:
            _new_certificate(folder, state.hosts)
        state.renew(folder, [user for user in state.users.values() if not user.tenant])
        renew_own_tokens(folder, state.rotation + 1)
        # last: from here on it may be ended, and the secrets before with it
        state.rotation, state.is_rotating = state.rotation + 1, True
        state.save(folder)
        return state.rotation


def recover(folder: SecurityFolder) -> None:
    """Complete what a command that was killed began; called while no process uses the secrets.

    A certificate or key of our own that is missing or damaged is made again.

    Raises:
        PermanentError: there is no folder, it is damaged, or a file in it cannot be read.
        InvalidInputError: the certificate of the authority, or its key, is damaged.
    """
    with folder.locked():
        state = read_state(folder)
        if state.own_authority and not _is_pair(folder):
            _new_certificate(folder, state.hosts)
    if state.is_rotating:
        end_rotation(folder)


def end_rotation(folder: SecurityFolder) -> None:
    """End the secrets before; called when no process uses them any more."""
    with folder.locked():
        state = read_state(folder)
        for user in state.users.values():
            if not user.tenant:
                user.end_older()
        end_older_own_tokens(folder, state.rotation)
        state.is_rotating = False
        state.save(folder)


def renew_tenant(folder: SecurityFolder, tenant: str, *, end_older: bool) -> None:
    """A new secret for the publisher of a tenant; the one before stays valid unless `end_older`.

    Raises:
        InvalidInputError: there is no such tenant.
        PermanentError: there is no folder.
    """
    with folder.locked():
        state = read_state(folder)
        user = state.users.get(TENANT_USER + tenant)
        if user is None:
            raise InvalidInputError(
                "--tenant", f"{tenant} has no user; `helix security init --tenant {tenant}`"
            )
        # `helix up` reads the users again
        state.renew(folder, [user])
        if end_older:
            user.end_older()
            state.save(folder)


def _first_files(
    folder: SecurityFolder, state: State, hosts: Sequence[str], given: GivenFiles | None
) -> None:
    if given is None:
        certificate, key = new_authority()
        write_secret(folder.root / "ca.key", key)
        write_secret(folder.ca, certificate)
        state.hosts = tuple(dict.fromkeys((*LOCAL, *hosts)))
        _new_certificate(folder, state.hosts)
    else:
        state.own_authority = False
        chain, key, authority = (_given(path) for path in given)
        fingerprint(chain)
        fingerprint(authority)
        for path, content in ((folder.certificate, chain), (folder.key, key), (folder.ca, authority)):
            write_secret(path, content)
    renew_own_tokens(folder, state.rotation)


def _new_certificate(folder: SecurityFolder, hosts: Sequence[str]) -> None:
    authority = _content(folder.ca), _content(folder.root / "ca.key")
    certificate, key = new_certificate(authority, hosts)
    write_secret(folder.key, key)
    write_secret(folder.certificate, certificate)


def _is_pair(folder: SecurityFolder) -> bool:
    """Whether both files are there and whole, and the key is that of the certificate."""
    if not (folder.certificate.exists() and folder.key.exists()):
        return False
    certificate, key = _content(folder.certificate), _content(folder.key)
    try:
        return key_belongs(key, read_certificates(certificate)[0])
    except InvalidInputError:
        return False


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PermanentError(f"{path} cannot be read: {error.strerror}") from error


def _given(path: Path) -> bytes:
    try:
        return path.expanduser().read_bytes()
    except OSError as error:
        raise InvalidInputError("certificate", f"{path} cannot be read: {error.strerror}") from error
