"""The report of a comparison, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from helix_cli.output.terminal import ID_CHARACTERS, plain, stdout

if TYPE_CHECKING:
    from helix_cli.rebuilding.parity.result import Parity


def print_parity(parity: Parity) -> None:
    """Print a table of the sections, the first differences of each, and what explains them."""
    console = stdout()
    if parity.not_compared:
        console.print(plain(f"not compared with what was there: {parity.not_compared}"))
        return
    console.print(f"compared with generation {parity.before}, events up to {parity.up_to:,}")
    table = Table("content", "memories", "different", "note", box=None, header_style="bold")
    for section in parity.sections:
        table.add_row(section.name, f"{section.compared:,}", f"{section.different:,}", plain(section.note))
    console.print(table)
    for section in parity.sections:
        for one in section.examples:
            text = f"{one.memory_id[:ID_CHARACTERS]}  {one.field}: {one.before} -> {one.after}"
            console.print(plain(f"  {section.name}  {text}"), soft_wrap=True)
    if parity.unfinished:
        console.print(f"left out: memories of {parity.unfinished:,} events that are on their way")
    for line in (*parity.changed, *parity.reasons):
        console.print(plain(f"made differently: {line}"), soft_wrap=True)
    console.print("the same in all" if parity.is_total else "not the same")
