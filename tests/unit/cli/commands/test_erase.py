"""`helix erase`: how a receipt is printed, and with which code the command ends."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from helix_cli.commands import erase
from helix_cli.commands.group import load_command

PLACES = {
    "memories": {"count": 3, "generation": 7},
    "archive": {"count": 2, "generation": 9},
    "pairs": {"count": 0, "generation": 0},
}


def report(**fields: Any) -> dict[str, Any]:
    """A report as the command makes it."""
    return {"event_id": "x", "complete": False, "places": PLACES, "not_covered": erase.COPIES, **fields}


def test_receipt_names_each_place_and_what_is_pending(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each place; a place without a generation is not clean, also with a count of 0."""
    erase._show(report(), as_json=False)
    printed = capsys.readouterr()
    lines = {line.split()[1]: line.split()[3::2] for line in printed.out.splitlines() if "│" in line}
    assert lines["memories"] == ["3", "7"]
    assert lines["archive"] == ["2", "9"]
    assert lines["pairs"] == ["0", "pending"]
    assert "searched" not in printed.out


def test_receipt_says_which_copies_are_not_reached(capsys: pytest.CaptureFixture[str]) -> None:
    """The search does not cover them: who reads `residue 0` must not believe it does."""
    erase._show(report(searched=4, residue={}), as_json=False)
    printed = capsys.readouterr()
    assert "searched for 4 erased texts: residue 0" in printed.out
    assert "exports, backups in the clear" in " ".join(printed.err.split())
    erase._show(report(), as_json=True)
    assert "helix keys copy" in json.loads(capsys.readouterr().out)["not_covered"]


def test_versions_that_stay_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A correction repeats most of a text: who erases one version must know of the others."""
    erase._show(report(later_versions=["a" * 32, "b" * 32]), as_json=False)
    assert "helix memory erase aaaaaaaa bbbbbbbb" in " ".join(capsys.readouterr().err.split())
    erase._show(report(), as_json=False)
    assert "later versions" not in capsys.readouterr().err


def test_memory_erase_is_the_same_command() -> None:
    """One function under two names, so both take the same options."""
    inside, alone = load_command("memory").get_command(None, "erase"), load_command("erase")
    assert inspect.unwrap(inside.callback) is inspect.unwrap(alone.callback)


def test_residue_is_named_by_place(capsys: pytest.CaptureFixture[str]) -> None:
    """How often something was found, and where."""
    found = {"data/archive/000000000001.log": 2, "HELIX_DLQ": 1}
    erase._show(report(searched=1, residue=found), as_json=False)
    printed = capsys.readouterr().out
    assert "residue 3" in printed
    assert "data/archive/000000000001.log: 2" in printed


def test_receipt_says_whether_the_keys_of_backups_are_destroyed(capsys: pytest.CaptureFixture[str]) -> None:
    """The place `backups` counts events whose keys are destroyed; pending while a backup holds the keys."""
    for generation, said in ((9, "2 keys destroyed"), (0, "pending")):
        places = {"backups": {"count": 2, "generation": generation}}
        erase._show(report(places=places), as_json=False)
        [line] = [line for line in capsys.readouterr().out.splitlines() if "backups" in line]
        assert said in line


def test_what_was_not_searched_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """With the reason, beside a residue of 0."""
    unread = {"data/live/memories.lance": "table is damaged"}
    erase._show(report(searched=1, residue={}, unread=unread), as_json=False)
    printed = capsys.readouterr().out
    assert "residue 0" in printed
    assert "not searched: data/live/memories.lance: table is damaged" in printed
