"""Asks before what cannot be taken back: a word must be typed at a terminal.

The question goes to standard error, so that `--json` on standard output stays JSON.
"""

from __future__ import annotations

import sys

import typer

from helix_cli.output.terminal import note
from helix_shared.errors import InvalidInputError


def ask_for_word(warning: str, word: str, *, option: str) -> None:
    """Print `warning`, and return once `word` was typed; `option` is the one that leaves out the question.

    Raises:
        InvalidInputError: standard input is no terminal, so nobody can answer.
        Abort: something else was typed.
    """
    if sys.stdin is None or not sys.stdin.isatty():  # a closed standard input is None
        raise InvalidInputError(
            option, "is needed where standard input is no terminal, because this cannot be taken back"
        )
    note(warning)
    typer.echo(f"Type {word} to go on: ", nl=False, err=True)
    # typer.prompt writes a blank to standard output
    if sys.stdin.readline().strip().lower() != word:
        note(f"nothing was done: {word!r} was not typed")
        raise typer.Abort
