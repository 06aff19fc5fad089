"""What the commands that list have in common: their options, and tables of memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from helix_cli.output.dates import happened_on, said_on
from helix_cli.output.terminal import ID_CHARACTERS, note, one_line, plain
from helix_memory import limits

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from helix_memory.recall.v1 import recall_pb2

SHOWN_CHARACTERS = 120
"""Of a text in a table."""

Limit = Annotated[
    int, typer.Option("--limit", min=1, max=limits.PAGE_SIZE, help="Entries of a page at most.")
]
Page = Annotated[
    str, typer.Option("--page", help="Token of a further page, as the page before it printed it.")
]
Full = Annotated[bool, typer.Option("--full", help="Print whole texts.")]


def memory_table(memories: Iterable[recall_pb2.Memory], zone: tzinfo, *, full: bool) -> Table:
    """A row for each memory; days are those of `zone`.

    The date is that by which lists are ordered. Another day of which a memory speaks stands behind its text.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "date", "type", "who"):
        table.add_column(name, no_wrap=True)
    table.add_column("memory", overflow="fold", ratio=1)
    for memory in memories:
        text = memory.text if full else one_line(memory.text, characters=SHOWN_CHARACTERS)
        who = one_line(memory.source.speaker or memory.source.role, characters=20)
        day, event = said_on(memory, zone), happened_on(memory, zone)
        about = f" (about {event})" if event != day else ""
        table.add_row(memory.memory_id[:ID_CHARACTERS], day, memory.type, plain(who), plain(text + about))
    return table


def note_next_page(token: str) -> None:
    """Say how to get the next page, if there is one."""
    if token:
        note(f"there may be more: --page {token}")
