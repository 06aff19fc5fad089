"""`helix`: the commands and what stands above them."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from helix_cli.commands import (
    dlq,
    graph,
    import_files,
    models,
    provision,
    publish,
    recall,
    status,
    up,
    why_not,
)
from helix_cli.output.failure import EXIT_CODES, HelixGroup
from helix_shared.telemetry import configure_logging

HELP: Final = f"""Memory for agents: publish what happens, recall it in milliseconds.
No GPU, no key, no network.

[bold]Start[/bold]

  helix up
  helix publish --tenant acme --session s1 --text "We chose Postgres."
  helix recall "which database did we choose?" --tenant acme

`helix up` stays in its terminal; the others find it there, or where
--nats and --query (HELIX_NATS_URL, HELIX_RECALL_ADDRESS) point.
HELIX_TENANT stands in for --tenant.

{EXIT_CODES}
"""

app = typer.Typer(
    name="helix",
    cls=HelixGroup,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up", help=up.HELP)(up.up_command)
app.command("publish", help=publish.HELP)(publish.publish_command)
app.command("import", help=import_files.HELP)(import_files.import_command)
app.command("recall", help=recall.HELP)(recall.recall_command)
app.command("why-not", help=why_not.HELP)(why_not.why_not_command)
app.command("status", help=status.HELP)(status.status_command)
app.command("graph", help=graph.HELP)(graph.graph_command)
app.command("provision", help=provision.HELP)(provision.provision_command)
app.add_typer(dlq.dlq_app, name="dlq")
app.add_typer(models.models_app, name="models")


@app.callback()
def prepare(
    *,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Log what the connections do to standard error.")
    ] = False,
) -> None:
    """Silence the libraries: what a user must know comes as a message of the command."""
    configure_logging(log_format="console", level="INFO" if verbose else "CRITICAL", service="cli")


def main() -> None:
    """Run the command."""
    app()


if __name__ == "__main__":
    main()
