"""One finding of `helix doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "problem"]
Repair = Literal["", "provision", "current", "derive", "unlock"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: `means` explains it, `advice` says what to do.

    A `problem` makes the command end with 1; a `note` tells what was not checked.
    """

    check: str
    level: Level
    found: str
    means: str = ""
    advice: str = ""
    repair: Repair = ""
    """What `--repair` does about it; empty: nothing."""


def ok(check: str, found: str) -> Finding:
    """Nothing is wrong."""
    return Finding(check, "ok", found)
