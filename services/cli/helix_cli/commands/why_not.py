"""`helix why-not`: why a memory is not in the answer to a question, and what would bring it in."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from google.protobuf import json_format  # type: ignore[import-untyped] # stubs are a namespace package

from helix_cli.clients.recall_client import RecallClient
from helix_cli.commands import options, query_options
from helix_cli.output.failure import EXIT_CODES
from helix_cli.output.terminal import plain, stdout
from helix_memory.recall.v1 import recall_pb2

HELP: Final = f"""Tell why a memory is not in the answer to a question.

[bold]Examples[/bold]

  helix why-not 4f0c…32-digits…9a "which database did we choose?" --tenant acme
  helix why-not 4f0c…32-digits…9a "what failed?" --tenant acme --type code --top-k 3

Ask with the same options as `helix recall`, which prints ids with --json
and with --explain --full. The change that is named was tried: with it the
memory is packed.

{EXIT_CODES}
"""


@query_options.asks
def why_not_command(
    memory_id: Annotated[str, typer.Argument(help="Id of the memory that is missed.")],
    request: recall_pb2.RecallRequest,
    *,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask; the help text stands in `HELP`."""
    at = options.query_server(query, home)
    with RecallClient(at.address, instance=at.instance) as client:
        reply = client.why_not(recall_pb2.WhyNotRequest(recall=request, memory_id=memory_id))
    if as_json:
        typer.echo(json_format.MessageToJson(reply, preserving_proto_field_name=True))
        return
    console = stdout()
    console.print(plain(reply.verdict))
    if reply.advice:
        console.print(plain(reply.advice))
