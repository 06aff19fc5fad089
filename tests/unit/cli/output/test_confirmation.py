"""A word must be typed at a terminal before what cannot be taken back."""

from __future__ import annotations

import io
import sys

import pytest
import typer

from helix_cli.output.confirmation import ask_for_word
from helix_shared.errors import InvalidInputError


class Terminal(io.StringIO):
    """Standard input at which somebody types."""

    def isatty(self) -> bool:
        """As a terminal."""
        return True


def ask() -> None:
    """As a command asks."""
    ask_for_word("This erases the session s1", "erase", option="--yes")


@pytest.mark.parametrize("typed", ["erase\n", "  Erase \n"])
def test_the_word_lets_the_command_go_on(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The question is on standard error: standard output stays JSON."""
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    ask()
    printed = capsys.readouterr()
    assert printed.err.startswith("This erases the session s1\nType erase to go on")
    assert printed.out == ""


@pytest.mark.parametrize("typed", ["\n", "y\n", "yes\n", ""])
def test_any_other_answer_ends_the_command(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also a bare return, and the end of the input."""
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    with pytest.raises(typer.Abort):
        ask()
    assert capsys.readouterr().out == ""


def test_without_a_terminal_the_option_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piped word is none that somebody typed after reading the warning."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("erase\n"))
    with pytest.raises(InvalidInputError, match="--yes"):
        ask()
