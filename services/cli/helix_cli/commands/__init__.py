"""The commands of `helix`, one module each; start with `group`, which has the table of them.

To add a command, write a module with an `app` (a `typer.Typer` with one command, or several for
subcommands) and add its row to `group.COMMANDS`. Commands of operators are in `operating`. Tests check its
help and its row in the table. `common` holds what several commands share. A module imports what its command
needs; a slow import that only one branch needs is inside that branch.

May import every other room of `helix_cli`. No other room imports this one.
"""
