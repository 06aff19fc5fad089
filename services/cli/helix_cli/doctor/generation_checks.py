"""Checks of the generations on the disk: every file, the stores against each other, and what is left over.

The engines are imported once there is a generation: a home without one is examined in a moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_cli.doctor.finding import Finding, ok
from helix_shared.artifacts.generation.folders import STAGING, current_number, folder_of, published_numbers
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.errors import HelixError
from helix_shared.machine.processes import use_one_blas_thread

if TYPE_CHECKING:
    from helix_consolidation.reconciliation.compare import Comparison
    from helix_consolidation.reconciliation.log import LogComparison

REBUILD: Final = "`helix rebuild` makes all stores again from the log"
DISAGREE: Final = "a recall may miss these memories, or show them without some of their parts"


@dataclass(slots=True)
class Generations:
    """What is known of the generations of a data folder after the checks."""

    current: int = 0
    """What CURRENT names; 0 where it names none."""
    good: list[int] = field(default_factory=list)
    """Verified generations, newest first."""
    stores: Comparison | None = None
    """Of the newest good one."""
    log: LogComparison | None = None
    """Of the log with that one; None without NATS."""

    @property
    def is_current_bad(self) -> bool:
        """Whether CURRENT names no verified generation, although there is one or should be."""
        return self.current not in self.good


def generation_checks(data: Path, known: Generations, *, is_written: bool) -> Iterator[Finding]:
    """Verify every generation, and compare the stores of the newest good one; fills `known`.

    `is_written`: a writer may publish and retire generations meanwhile.
    """
    try:
        known.current = current_number(data) or 0
    except HelixError as error:
        yield _pointer(data, str(error))
    numbers = published_numbers(data)
    if not numbers:
        yield Finding("generation", "note", "no generation was published in this home yet")
        return
    damaged = {number: _damage(data, number) for number in numbers}
    known.good = [number for number in numbers if not damaged[number] and number <= (known.current or number)]
    yield from _verified(data, known, damaged)
    if not is_written and (data / STAGING).is_dir() and any((data / STAGING).iterdir()):
        yield Finding("staging", "note", "leftovers of a publication; the next one removes them")
    if known.good:
        yield from _compared(data, known)


def _damage(data: Path, number: int) -> str:
    """Why a generation must not be served; empty if every file is as its manifest says."""
    try:
        verify(folder_of(data, number), verified=set())
    except (HelixError, OSError) as error:
        return str(error)
    return ""


def _verified(data: Path, known: Generations, damaged: dict[int, str]) -> Iterator[Finding]:
    for number, reason in damaged.items():
        if not reason or not folder_of(data, number).is_dir():
            continue  # it was retired meanwhile
        is_current = number == known.current
        yield Finding(
            "generation", "problem" if is_current else "warning", f"generation {number}: {reason}",
            "it is not served; the query service answers from an older one, and the writer does not start",
            f"look at the disk; `helix doctor --repair` points CURRENT to a good one, {REBUILD}",
            "current" if is_current else "",
        )  # fmt: skip
    if known.current and known.current not in damaged:
        yield _pointer(data, f"CURRENT names generation {known.current}, which does not exist")
    elif known.current in known.good:
        yield ok("generation", f"generation {known.current}: every file has the sha256 of its manifest")


def _pointer(data: Path, reason: str) -> Finding:
    return Finding(
        "generation", "problem", reason, f"{data / 'CURRENT'} was damaged, or generations were removed",
        f"`helix doctor --repair` points it to the newest good generation; else {REBUILD}", "current",
    )  # fmt: skip


def _compared(data: Path, known: Generations) -> Iterator[Finding]:
    use_one_blas_thread()
    from helix_consolidation.reconciliation.compare import compare  # noqa: PLC0415  see above

    number = known.good[0]
    try:
        stores = known.stores = compare(data, number)
    except (HelixError, OSError) as error:
        if not folder_of(data, number).is_dir():
            yield Finding("stores", "note", f"generation {number} was retired meanwhile; try again")
            return
        yield Finding("stores", "problem", f"generation {number}: {error}", DISAGREE, REBUILD)
        return
    for difference in stores.differences:
        yield Finding("stores", "problem", f"generation {number}: {difference}", DISAGREE, REBUILD)
    if not stores.differences:
        counts = ", ".join(f"{name} {count}" for name, count in stores.counts.items())
        yield ok("stores", f"vectors, lexicon, graph and signals hold the same memories ({counts})")
