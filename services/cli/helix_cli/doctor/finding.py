"""One finding of `helix doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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


def of_shard(shard: int, shards: int, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, which name the shard where there are several."""
    for one in findings:
        yield one if shards == 1 else replace(one, found=f"shard {shard}: {one.found}")
