"""`helix why-not`: explains why a recall does not return a memory, and which change would return it."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from helix_cli.commands.common import options, query_options
from helix_cli.commands.common.hints import with_owner_hint
from helix_cli.commands.common.memory_ids import ENOUGH, take_whole_ids, whole_ids
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import query_server
from helix_cli.home.query_client import query_client
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import plain, print_message, stdout
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError

HELP: Final = f"""
[bold]Examples[/bold]

  helix why-not 4f0c…32-digits…9a "which database did we choose?" --tenant acme
  helix why-not 4f0c…32-digits…9a "what failed?" --tenant acme --type code --top-k 3

Use the same options as for `helix recall`, which prints ids with --json and
with --explain --full. The change that is proposed was tried: with it the
memory is packed.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("why-not", HELP))
@query_options.with_query_options
def why_not_command(
    memory_id: Annotated[str, typer.Argument(help=f"Id of the missing memory, or {ENOUGH}.")],
    request: recall_pb2.RecallRequest,
    *,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask why a memory is missing."""
    server = query_server(query, home)
    [memory_id] = whole_ids([memory_id], request.scope, lambda: server)
    take_whole_ids(request, server)
    with query_client(server) as client:
        try:
            reply = client.why_not(recall_pb2.WhyNotRequest(recall=request, memory_id=memory_id))
        except NotFoundError as error:
            raise with_owner_hint(error, request.scope) from error
    if as_json:
        print_message(reply)
        return
    console = stdout()
    console.print(plain(reply.verdict))
    if reply.advice:
        console.print(plain(reply.advice))
