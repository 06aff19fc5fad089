"""kg on the wire: every memories message is answered by one links message.

The links themselves come from `extract` and `resolve`; delivery and dead letters are
`helix_shared.broker`'s.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from helix import subjects
from helix_kg.extract import COLUMNS, extract
from helix_kg.resolve import resolve
from helix_shared import edges
from helix_shared.broker import derive, streams, worker

if TYPE_CHECKING:
    from faststream.nats import NatsBroker

SERVICE: Final = "kg"
EDGE: Final = "links"
VERSION: Final = "1"
"""Raised when the rules change, so that a re-run is not taken for a repeat."""


def wire(
    broker: NatsBroker, *, ack_wait_seconds: float = 60.0, publish_timeout_seconds: float = 5.0
) -> worker.Durable:
    """Subscribe kg to the memories edge."""
    derivation = derive.Derivation(EDGE, VERSION, edges.links_schema(), COLUMNS, link_rows)
    return worker.subscribe(
        broker,
        stream=subjects.DERIVED_STREAM,
        durable=streams.KG,
        subject=subjects.derived_edge(derive.MEMORIES),
        service=SERVICE,
        handle=derivation.handle,
        bury=derivation.bury,
        ack_wait_seconds=ack_wait_seconds,
        publish_timeout_seconds=publish_timeout_seconds,
    )


def link_rows(row: derive.Row) -> list[dict[str, Any]]:
    """Rows of the links edge for one memory."""
    return [{"memory_id": row["memory_id"], **asdict(link)} for link in resolve(extract(row))]
