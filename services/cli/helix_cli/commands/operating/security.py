"""`helix security`: certificates, users of NATS and tokens of a home; `helix_cli.security` makes them."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from helix_cli.commands.common import options
from helix_cli.commands.group import COMMANDS
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import running_record
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note
from helix_cli.security import setup, tokens
from helix_cli.security.certificates import fingerprint
from helix_cli.security.folder import SecurityFolder
from helix_cli.security.users import State, read_state
from helix_memory.transport.polling import poll
from helix_shared.errors import HelixError, InvalidInputError, TemporaryError
from helix_shared.rpc.access.credential import RECALL, ROLES

ROTATION_SECONDS: Final = 180.0
"""Longest wait until `helix up` has restarted its services."""
LONGEST_PAUSE: Final = 31_536_000.0
"""A year, in seconds."""
INIT_HELP: Final = f"""Make certificates, users of NATS and tokens for this home, or add tenants.

  helix security init --tenant acme --tenant beta:write
  helix security init --host helix.example.org --tenant acme

A tenant's publisher may write every kind of event; `beta:write` leaves out
erase. `helix up` uses the folder from its next start on.

{EXIT_CODES}"""

app = typer.Typer(help=COMMANDS["security"].summary, no_args_is_help=True, add_completion=False)


@app.command("init", help=INIT_HELP)
def init_command(
    *,
    tenant: Annotated[
        list[str] | None, typer.Option("--tenant", help="Tenant with a publisher, e.g. acme or acme:write.")
    ] = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", help="Name or address in the certificate; may be repeated.")
    ] = None,
    cert: Annotated[Path | None, typer.Option("--cert", help="Certificate of your own (PEM).")] = None,
    key: Annotated[Path | None, typer.Option("--key", help="Its key (PEM).")] = None,
    ca: Annotated[Path | None, typer.Option("--ca", help="The CA that signed it (PEM).")] = None,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Make the folder and say where the secrets are."""
    given = None
    if cert or key or ca:
        if not (cert and key and ca):
            raise InvalidInputError("--cert", "belongs to --key and --ca: give all three")
        given = (cert, key, ca)
    folder = SecurityFolder.of(home)
    was_there = folder.exists
    added = setup.init(folder, tenants=_tenants(tenant or []), hosts=host or [], given=given)
    files = {name: str(folder.nats_file(f"tenant-{name}")) for name in added}
    if as_json:
        tenants = [{"tenant": name, "file": path} for name, path in files.items()]
        typer.echo(json.dumps({"folder": str(folder.root), "made": not was_there, "tenants": tenants}))
    else:
        typer.echo(f"{'added to' if was_there else 'made'} {folder.root}")
        for name, path in files.items():
            typer.echo(f"tenant {name}: {path} (give it to the publisher with ca.pem)")
    if not was_there and running_record(HomeFolder.at(home)):
        note("`helix up` runs without it until it is started again")


@app.command("token", help=f"Make a token for the gRPC services, and print it once.\n\n{EXIT_CODES}")
def token_command(
    *,
    tenant: Annotated[
        list[str], typer.Option("--tenant", help="Tenant that it may act for; may be repeated; *: any.")
    ],
    user: Annotated[str, typer.Option("--user", help="User that it acts for; *: any, for a gateway.")] = "",
    principal: Annotated[
        list[str] | None, typer.Option("--principal", help="Group or role of the caller; *: any.")
    ] = None,
    role: Annotated[list[str] | None, typer.Option("--role", help=f"Of: {', '.join(ROLES)}.")] = None,
    days: Annotated[int, typer.Option("--days", min=0, max=3_650, help="Days it is valid; 0: no end.")] = 0,
    text: Annotated[str, typer.Option("--note", help="What it is for, in the list.")] = "",
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Add a token to the file that the services read."""
    folder = SecurityFolder.of(home)
    read_state(folder)
    expires_at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days) if days else None
    grant = tokens.Grant(tenant, user, principal or [], role or [RECALL], expires_at, text)
    with folder.locked():
        identity, token = tokens.add_token(folder, grant)
    note(f"token {identity}; it is shown once, Helix keeps only its hash")
    ends = None if expires_at is None else expires_at.isoformat()
    typer.echo(json.dumps({"id": identity, "token": token, "expires_at": ends}) if as_json else token)


@app.command("revoke", help=f"End a token; the services refuse it at once.\n\n{EXIT_CODES}")
def revoke_command(
    identity: Annotated[str, typer.Argument(metavar="ID", help="Id that `helix security show` lists.")],
    *,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Remove the token from the file."""
    folder = SecurityFolder.of(home)
    with folder.locked():
        tokens.end_token(folder, identity)
    typer.echo(json.dumps({"ended": identity}) if as_json else f"{identity} ended")


@app.command(
    "rotate",
    help="Make new secrets and a new certificate, and restart the services of a running `helix up` with "
    f"them. Old ones are valid until then. With --tenant: a new secret for one publisher.\n\n{EXIT_CODES}",
)
def rotate_command(
    *,
    tenant: Annotated[str, typer.Option("--tenant", help="Only the publisher of this tenant.")] = "",
    end_old: Annotated[
        bool,
        typer.Option("--end-old", help="With --tenant: end the old secret at once, not at the next one."),
    ] = False,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Renew secrets; wait until nobody uses the old ones."""
    folder, place = SecurityFolder.of(home), HomeFolder.at(home)
    if tenant:
        setup.renew_tenant(folder, tenant, end_older=end_old)
        file = folder.nats_file(f"tenant-{tenant}")
        typer.echo(
            json.dumps({"tenant": tenant, "file": str(file)}) if as_json else f"tenant {tenant}: {file}"
        )
        return
    if end_old:
        raise InvalidInputError("--end-old", "belongs to --tenant; the old secrets of services end anyway")
    if running_record(place) is None:
        setup.recover(folder)
    setup.begin_rotation(folder)
    for _ in poll(ROTATION_SECONDS):
        if running_record(place) is None:
            setup.end_rotation(folder)
        if not read_state(folder).is_rotating:
            typer.echo(
                json.dumps({"rotated": True})
                if as_json
                else "rotated; the old secrets are not valid any more"
            )
            return
    raise TemporaryError("`helix up` did not restart its services; the old secrets are still valid")


@app.command("show", help=f"List users, tokens and certificates; no secrets.\n\n{EXIT_CODES}")
def show_command(*, as_json: options.AsJson = False, home: options.Home = options.DEFAULT_HOME) -> None:
    """Print what the folder has."""
    folder = SecurityFolder.of(home)
    found = _shown(folder, read_state(folder))
    if as_json:
        typer.echo(json.dumps(found))
        return
    for kind in ("certificates", "users", "tokens"):
        for one in found[kind]:
            typer.echo(
                f"{kind[:-1]:12} " + "  ".join(f"{name}={value}" for name, value in one.items() if value)
            )


@app.command("jwks", help=f"Fetch the keys of an OIDC issuer into a file.\n\n{EXIT_CODES}")
def jwks_command(
    issuer: Annotated[str, typer.Argument(help="Address of the issuer, as its tokens name it in `iss`.")],
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File for HELIX_QUERY_JWT_KEYS_FILE.")],
    *,
    every: Annotated[
        float,
        typer.Option(
            "--every", min=0, max=LONGEST_PAUSE, help="Fetch again after so many seconds, for ever; 0: once."
        ),
    ] = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Write the key set; the services read it again when it changes."""
    from helix_cli.security.jwks import fetch_keys  # noqa: PLC0415  cryptography is slow to import

    while True:
        try:
            keys = fetch_keys(issuer, path)
            typer.echo(json.dumps({"keys": keys, "file": str(path)}) if as_json else f"{keys} keys in {path}")
        except (HelixError, OSError) as error:  # also of a disk that is full for a while
            if not every:
                raise
            note(f"the keys stay as they are: {error}")
        if not every:
            return
        time.sleep(every)


def _tenants(given: list[str]) -> dict[str, list[str]]:
    """Roles by tenant of `acme` or `acme:write,erase`."""
    found = {}
    for one in given:
        name, _, roles = one.partition(":")
        found[name] = roles.split(",") if roles else list(setup.ROLES_OF_PUBLISHERS)
    return found


def _shown(folder: SecurityFolder, state: State) -> dict[str, list[dict[str, Any]]]:
    certificates = []
    for path in (folder.ca, folder.certificate):
        digest, ends = fingerprint(path.read_bytes())
        certificates.append({"file": path.name, "sha256": digest, "valid_until": f"{ends:%Y-%m-%d}"})
    users = [
        {
            "name": user.name,
            "tenant": user.tenant,
            "roles": ",".join(user.roles),
            "secrets": ",".join(map(str, sorted(user.hashes))),
        }
        for user in state.users.values()
    ]
    shown = ("id", "tenants", "user", "principals", "roles", "expires_at", "note")
    listed = [
        {
            name: ",".join(one[name]) if isinstance(one[name], list) else one[name]
            for name in shown
            if name in one
        }
        | {"sha256": one["sha256"][:16]}
        for one in tokens.entries(folder)
    ]
    return {"certificates": certificates, "users": users, "tokens": listed}
