"""`helix provision`: creates the streams, consumers and the lease bucket on a given NATS.

`helix up` does the same when it starts; compose.yaml runs this command.
"""

from __future__ import annotations

import json
from typing import Annotated, Final

import typer

from helix_cli.clients.broker import provision_server
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import nats_server
from helix_cli.output.exit_codes import EXIT_CODES
from helix_memory.sharding import MOST_SHARDS

HELP: Final = f"""
[bold]Examples[/bold]

  helix provision --nats nats://127.0.0.1:4222
  helix provision --replicas 3      (a NATS cluster)
  helix provision --shards 4        (four writers; none of them runs now)
  helix provision --endpoint        (also for the worker extract)
  helix provision --bucket          (also a bucket for generations in NATS)

Existing streams keep their messages, existing consumers their position.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("provision", HELP))
def provision_command(
    *,
    replicas: Annotated[
        int | None,
        typer.Option(
            "--replicas", min=1, max=5, help="Copies of each stream in a cluster. Default: as before, or 1."
        ),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            help="Keep the copies on servers of the cluster with this tag. Default: as before, or any.",
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards",
            min=1,
            max=MOST_SHARDS,
            help="Writers among which tenants are divided; more than before only. Default: as before, or 1.",
        ),
    ] = None,
    endpoint: Annotated[
        bool,
        typer.Option("--endpoint", help="Also what the worker extract needs, which asks a language model."),
    ] = False,
    bucket: Annotated[
        bool,
        typer.Option(
            "--bucket", help="Also the bucket of generations, where no other object storage is used."
        ),
    ] = False,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Create or update everything on NATS."""
    server = nats_server(nats, home)
    done = provision_server(
        server.address,
        replicas=replicas,
        placement=tags or (),
        shards=shards,
        instance=server.instance,
        endpoint=endpoint,
        objects=bucket,
        credentials=server.nats,
    )
    typer.echo(json.dumps(done) if as_json else "\n".join(done))
