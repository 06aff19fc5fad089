"""doc2query on the wire: every memories message is answered by one expansions message.

The questions come from `predict` and pass through `keep`; delivery and dead letters are
`helix_shared.broker`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from helix import subjects
from helix_doc2query.keep import keep
from helix_doc2query.predict import COLUMNS, predict
from helix_shared import edges
from helix_shared.broker import derive, streams, worker

if TYPE_CHECKING:
    from faststream.nats import NatsBroker

SERVICE: Final = "doc2query"
EDGE: Final = "expansions"
VERSION: Final = "1"
"""Raised when the rules change, so that a re-run is not taken for a repeat."""


def wire(
    broker: NatsBroker, *, ack_wait_seconds: float = 60.0, publish_timeout_seconds: float = 5.0
) -> worker.Durable:
    """Subscribe doc2query to the memories edge."""
    derivation = derive.Derivation(EDGE, VERSION, edges.expansions_schema(), COLUMNS, expansion_rows)
    return worker.subscribe(
        broker,
        stream=subjects.DERIVED_STREAM,
        durable=streams.DOC2QUERY,
        subject=subjects.derived_edge(derive.MEMORIES),
        service=SERVICE,
        handle=derivation.handle,
        bury=derivation.bury,
        ack_wait_seconds=ack_wait_seconds,
        publish_timeout_seconds=publish_timeout_seconds,
    )


def expansion_rows(row: derive.Row) -> list[dict[str, Any]]:
    """Rows of the expansions edge for one memory: one, or none when no question is worth keeping."""
    questions = keep(predict(row), f"{row['title']} {row['text']}")
    return [{"memory_id": row["memory_id"], "expansions": questions}] if questions else []
