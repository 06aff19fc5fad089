"""Checks of what `helix security` made: files and their modes, certificates, keys, secrets and tokens."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from helix_cli.doctor.finding import Finding, ok
from helix_cli.security.folder import SecurityFolder
from helix_cli.security.tokens import OWN, is_valid_token
from helix_cli.security.users import State, read_state
from helix_shared.errors import HelixError, InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.security.certificates import Certificates

SOON: Final = timedelta(days=30)
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
REFUSED: Final = "services and commands refuse each other, or do not start"
RESTORE: Final = "restore the file from a backup; or remove the folder, and run `helix security init` again"
ROTATE: Final = "`helix security rotate` makes new ones, with --tenant that of a tenant"

_problem = partial(Finding, "security", "problem")


def security_checks(folder: SecurityFolder, *, now: datetime | None = None) -> Iterator[Finding]:
    """What is wrong with the folder `security` of a home; one `ok` if nothing is, or there is none."""
    if not folder.root.is_dir() or not any(path.name != "lock" for path in folder.root.iterdir()):
        yield ok("security", "no authentication: every program of this machine may act for every tenant")
        return
    try:
        state = read_state(folder)
    except HelixError as error:
        yield _problem(str(error), "`helix up` does not start, or starts without authentication", RESTORE)
        return
    try:
        wrong = [
            *_files(folder, state),
            *_certificates(folder, state, now or datetime.now(UTC)),
            *_secrets(folder, state),
        ]
    except OSError as error:
        advice = "run it as the user that runs `helix up`"
        wrong = [_problem(f"{error.filename} cannot be read: {error.strerror}", "it was not checked", advice)]
    yield from wrong or [ok("security", f"certificates, keys and secrets of {len(state.users)} users agree")]


def _files(folder: SecurityFolder, state: State) -> Iterator[Finding]:
    """Files that are missing, and secrets that others may read."""
    renewed = [
        *([folder.key, folder.certificate] if state.own_authority else []),
        *(folder.nats_file(name) for name in state.users),
        *(folder.token_file(name) for name in OWN),
    ]  # fmt: skip
    kept = [folder.ca, folder.tokens, *([] if state.own_authority else [folder.key, folder.certificate])]
    for path, advice in (*((one, ROTATE) for one in renewed), *((one, RESTORE) for one in kept)):
        if not path.is_file():
            yield _problem(f"{path} is missing", REFUSED, advice)
    signing = folder.root / "ca.key"
    if state.own_authority and not signing.is_file():
        yield Finding(
            "security", "warning", f"{signing} is missing", "`helix security rotate` needs it",
            "put it back for a rotation, if it is kept elsewhere",
        )  # fmt: skip
    public = (folder.ca, folder.certificate)
    secrets = [folder.root, folder.state, *(one for one in (signing, *renewed, *kept) if one not in public)]
    for path in filter(_is_open, secrets):
        mode = stat.S_IMODE(path.stat().st_mode)
        wanted = "700" if path.is_dir() else "600"
        yield _problem(
            f"{path} has mode {mode:o}", "other users of this machine can read secrets",
            f"`chmod {wanted} {path}`, and replace what others may have read: {ROTATE}",
        )  # fmt: skip


def _is_open(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & OTHERS)


def _certificates(folder: SecurityFolder, state: State, now: datetime) -> Iterator[Finding]:
    """Certificates that are not valid now or soon, or do not belong to their key or authority."""
    from helix_cli.security.certificates import is_issued_by  # noqa: PLC0415  a home without them needs none

    renew = ROTATE if state.own_authority else f"put new files at {folder.certificate} and {folder.key}"
    authority, chain = _read(folder.ca), _read(folder.certificate)
    for path, found, advice in (
        (folder.ca, authority, renew if not state.own_authority else RESTORE),
        (folder.certificate, chain, renew),
    ):
        if isinstance(found, str):
            yield _problem(f"{path} {found}", REFUSED, advice)
        elif found:
            yield from _times(path, found, now, advice)
    if authority and chain and not isinstance(authority, str) and not isinstance(chain, str):
        if not is_issued_by(chain, authority):
            yield _problem(
                f"{folder.certificate} is not signed by {folder.ca}",
                "clients that trust the authority refuse NATS and the gRPC services", renew,
            )  # fmt: skip
        yield from _key(folder.certificate, chain, folder.key, renew)
    if state.own_authority and authority and not isinstance(authority, str):
        yield from _key(folder.ca, authority, folder.root / "ca.key", RESTORE)


def _read(path: Path) -> Certificates | str:
    """The certificates of a file, none if it is missing, or what is wrong with it."""
    from helix_cli.security.certificates import read_certificates  # noqa: PLC0415  as above

    try:
        return read_certificates(path.read_bytes()) if path.is_file() else ()
    except InvalidInputError as error:
        return error.reason
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _times(path: Path, found: Certificates, now: datetime, advice: str) -> Iterator[Finding]:
    for one in found:
        begins, ends = one.not_valid_before_utc, one.not_valid_after_utc
        if ends <= now:
            yield _problem(f"{path} expired on {ends:%Y-%m-%d}", "nobody can connect any more", advice)
        elif begins > now:
            yield _problem(
                f"{path} is valid from {begins:%Y-%m-%d %H:%M} UTC", "nobody can connect until then",
                f"compare the clock of this machine; {advice}",
            )  # fmt: skip
        elif ends - now < SOON:
            yield Finding(
                "security", "warning", f"{path} ends on {ends:%Y-%m-%d}, in {(ends - now).days} days",
                "nobody can connect then", advice,
            )  # fmt: skip


def _key(path: Path, found: Certificates, key: Path, advice: str) -> Iterator[Finding]:
    if not key.is_file():
        return  # said above
    from helix_cli.security.certificates import key_belongs  # noqa: PLC0415  as above

    try:
        belongs = key_belongs(key.read_bytes(), found[0])
    except (InvalidInputError, OSError) as error:
        yield _problem(f"{key}: {error}", REFUSED, advice)
        return
    if not belongs:
        yield _problem(f"{key} is not the key of {path}", "a server with both does not start", advice)


def _secrets(folder: SecurityFolder, state: State) -> Iterator[Finding]:
    """Users and tokens whose secret is not the one of which the hash is kept."""
    broken: Sequence[str] = [
        name for name, user in state.users.items()
        if folder.nats_file(name).is_file() and not user.has_secret(folder.nats_file(name).read_bytes())
    ]  # fmt: skip
    if broken:
        yield _problem(
            f"NATS does not know the secrets in {folder.root / 'nats'}: {', '.join(broken)}",
            "it refuses these users",
            ROTATE,
        )
    try:
        unknown = [
            name for name in OWN
            if folder.token_file(name).is_file() and folder.tokens.is_file()
            and not is_valid_token(folder, folder.token_file(name).read_text().strip())
        ]  # fmt: skip
    except (HelixError, ValueError, OSError) as error:
        yield _problem(f"{folder.tokens}: {error}", "the gRPC services do not start", RESTORE)
        return
    if unknown:
        yield _problem(
            f"{folder.tokens} does not have the tokens of: {', '.join(unknown)}",
            "the gRPC services refuse them", ROTATE,
        )  # fmt: skip
