"""Streams and consumers as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from helix_cli.clients.broker_status import ConsumerRow, StreamRow
from helix_cli.output.terminal import size


def streams_table(rows: Sequence[StreamRow]) -> Table:
    """One row for each stream."""
    table = Table("stream", "messages", "size", "first", "last", box=None, header_style="bold")
    for row in rows:
        table.add_row(
            row.name, str(row.messages), size(row.bytes), str(row.first_sequence), str(row.last_sequence)
        )
    return table


def consumers_table(rows: Sequence[ConsumerRow]) -> Table:
    """One row for each consumer."""
    table = Table("consumer", "pending", "in progress", "redelivered", box=None, header_style="bold")
    for row in rows:
        table.add_row(row.name, str(row.pending), str(row.ack_pending), str(row.redelivered))
    return table
