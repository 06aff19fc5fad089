"""`helix shards`: which tenant lies in which shard, what more shards would change, and moving a tenant."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from helix_cli.clients.broker import client_of, run_async
from helix_cli.clients.sharding import tenants_of_log
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import nats_server
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_memory.sharding import MOST_SHARDS, hashed_shard
from helix_shared.broker.shard_bucket import read_map

if TYPE_CHECKING:
    from helix_cli.home.addresses import Server
    from helix_shared.shard_map import ShardMap

HELP: Final = f"""
[bold]Examples[/bold]

  helix shards plan
  helix shards plan --shards 4
  helix shards plan --json          (every tenant with its shard)

A tenant with events stays in its shard when there are more of them; only
tenants that come later are placed in the new ones. --shards tells how many
tenants and events hashing alone would place elsewhere. Nothing is changed:
`helix up --shards N` or `helix provision --shards N` does that.

`helix shards move TENANT --to N` moves one tenant.

{EXIT_CODES}
"""
MOVE_HELP: Final = f"""
Move a tenant to another shard, while it is written and read.

[bold]Examples[/bold]

  helix shards move acme --to 1
  helix shards move acme --to 0      (back)

Its events are derived again and applied to the new shard, whose writer stops
for that time: its other tenants wait for what is published then. Then the
writer of the old shard stops for a moment, too: the last events follow, the
memories are compared with those of the old shard, and the tenant is the new
shard's. Recalls are answered all the time.

Runs on the machine with the data folders of both shards. It may be ended at
any time and called again: until the last step nothing has changed.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False, help=help_text("shards", HELP), no_args_is_help=True)


@app.command()
def plan(
    *,
    shards: Annotated[
        int | None,
        typer.Option("--shards", min=1, max=MOST_SHARDS, help="Also what so many shards would change."),
    ] = None,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Show tenants and events of every shard; changes nothing."""
    found, events = run_async(_read(nats_server(nats, home)))
    if shards is not None:
        # refuses what `helix provision` would refuse
        found.grown(shards, tenants=(), log_end=0)
    told = described(found, events, shards)
    typer.echo(json.dumps(told) if as_json else "\n".join(_lines(told)))


async def _read(server: Server) -> tuple[ShardMap, Counter[str]]:
    async with client_of(server) as client:
        events = Counter[str]()
        async for tenant, count in tenants_of_log(client):
            events[tenant] += count
        return await read_map(client.jetstream()), events


def described(found: ShardMap, events: Counter[str], shards: int | None) -> dict[str, Any]:
    """Tenants and events by shard, the shard of every tenant, and how many hashing would place elsewhere."""
    home = {tenant: found.shard_of(tenant) for tenant in sorted(events)}
    rows = [
        {
            "shard": shard,
            "tenants": sum(at == shard for at in home.values()),
            "events": sum(events[tenant] for tenant, at in home.items() if at == shard),
            "since_sequence": found.starts[shard],
        }
        for shard in range(found.shards)
    ]
    wanted = shards or found.shards
    elsewhere = [tenant for tenant, at in home.items() if hashed_shard(tenant, wanted) != at]
    return {
        "shards": rows,
        "tenants": home,
        "planned": wanted,
        "elsewhere": {"tenants": len(elsewhere), "events": sum(events[one] for one in elsewhere)},
    }


def _lines(told: dict[str, Any]) -> list[str]:
    lines = [
        f"shard {row['shard']}  {row['tenants']} tenants  {row['events']} events" for row in told["shards"]
    ]
    away = told["elsewhere"]
    lines.append(
        f"hashing over {told['planned']} shards would place {away['tenants']} of {len(told['tenants'])} "
        f"tenants, {away['events']} events, elsewhere; they stay where they are"
    )
    return lines


@app.command(help=MOVE_HELP)
def move(
    tenant: Annotated[str, typer.Argument(help="Tenant to move.")],
    *,
    to: Annotated[int, typer.Option("--to", min=0, max=MOST_SHARDS - 1, help="Shard to move it to.")],
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Move a tenant to another shard, while it is written and read."""
    from helix_cli.commands.common.moving import move_tenant  # noqa: PLC0415  the engines are slow to import

    moved = move_tenant(HomeFolder.at(home), tenant, to, nats=nats)
    if as_json:
        typer.echo(json.dumps(asdict(moved)))
        return
    typer.echo(
        f"{moved.tenant_id} moved from shard {moved.source} to shard {moved.target}: {moved.memories:,} "
        f"memories of {moved.events:,} events; nobody wrote it for {moved.paused_seconds:.1f} s"
    )
