"""`helix provision`: the streams, consumers and the lease bucket on a given NATS.

The only way they come to be; `helix up` runs the same step, compose runs this command.
"""

from __future__ import annotations

import json
from typing import Annotated, Final

import typer

from helix_cli.clients.broker import connected
from helix_cli.commands import options
from helix_cli.output.failure import EXIT_CODES, run_async
from helix_shared.broker import streams

HELP: Final = f"""Create or update streams and consumers on NATS; repeats harmlessly.

[bold]Examples[/bold]

  helix provision --nats nats://127.0.0.1:4222
  helix provision --replicas 3      (a NATS cluster)

What exists keeps its messages and its position.

{EXIT_CODES}
"""


def provision_command(
    *,
    replicas: Annotated[
        int, typer.Option("--replicas", min=1, max=5, help="Copies of each stream in a cluster.")
    ] = 1,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Provision; the help text stands in `HELP`."""
    server = options.nats_server(nats, home)
    done = provision(server.address, replicas=replicas, instance=server.instance)
    typer.echo(json.dumps(done) if as_json else "\n".join(done))


def provision(nats_url: str, *, replicas: int = 1, instance: str = "") -> list[str]:
    """Provision the NATS at `nats_url`; a line per thing done.

    Raises:
        TemporaryError: it does not answer.
    """

    async def work() -> list[str]:
        async with connected(nats_url, instance=instance) as jetstream:
            return await streams.provision(jetstream, replicas=replicas)

    return run_async(work())
