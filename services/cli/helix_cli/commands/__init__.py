"""The commands of `helix`, one module each; start with `group`, which has the table of them.

To add a command, write a module with an `app` (a `typer.Typer` with one command, or several for
subcommands) and add its row to `group.COMMANDS`. Tests check its help and its row in the table.
`options`, `query_options` and `publishing` hold what several commands share. A module imports what its
command needs; an import that only one branch needs and that is slow stands in that branch.

May import every other room of `helix_cli`. No other room imports this one.
"""
