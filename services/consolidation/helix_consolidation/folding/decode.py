"""Collecting: pull messages of a durable consumer, decode each, and hold it until it is answered.

Next comes `fold`. One undecodable message spoils no other; a message is answered only when the
generation that contains it is published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.folding.incoming_rows import check_memories
from helix_consolidation.folding.lifecycle import LifecycleEvent
from helix_memory import subjects
from helix_shared import edges
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS
from helix_shared.broker.worker.rederive import header_sequence
from helix_shared.edges import Origin
from helix_shared.errors import PermanentError
from helix_shared.moments import microseconds
from helix_shared.published import published_event

if TYPE_CHECKING:
    import pyarrow as pa
    from nats.aio.msg import Msg


@dataclass(frozen=True, slots=True)
class Derived:
    """A message of HELIX_DERIVED; `sequence` is its own, `origin.event_sequence` the event's."""

    origin: Origin
    rows: pa.RecordBatch
    sequence: int

    @property
    def order(self) -> tuple[int, int, int]:
        """Event first; of one event memories come before what enriches them."""
        return self.origin.event_sequence, subjects.EDGES.index(self.origin.edge), self.sequence


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A forget, erase or feedback event; `at` is the server's time of storing it, in microseconds."""

    event: LifecycleEvent
    sequence: int
    at: int

    @property
    def order(self) -> tuple[int, int, int]:
        """Place among the derived messages."""
        return self.sequence, 0, 0


Item = Derived | Lifecycle


def decode(message: Msg) -> Item:
    """The item in a message of either stream.

    Raises:
        IncompatibleError: a worker of another release made it.
        PermanentError: it is none, or it speaks for another tenant than its subject.
    """
    position = message.metadata
    if position.stream == subjects.EVENTS_STREAM:
        at = microseconds(position.timestamp)
        return decode_lifecycle(message.subject, message.data, sequence=position.sequence.stream, at=at)
    return decode_derived(message.subject, message.data, sequence=position.sequence.stream)


def decode_lifecycle(subject: str, body: bytes, *, sequence: int, at: int) -> Lifecycle:
    """A lifecycle event from its JSON body.

    Raises:
        PermanentError: as `decode`.
    """
    event = published_event(subject, body)
    if not isinstance(event, LifecycleEvent):
        raise PermanentError(f"kind: {event.kind} is not for consolidation")
    return Lifecycle(event, sequence, at)


def decode_derived(subject: str, body: bytes, *, sequence: int) -> Derived:
    """A derived message from its Arrow body.

    Raises:
        PermanentError: as `decode`.
    """
    origin, rows = edges.decode(body)
    if subjects.derived_subject(origin.edge, origin.tenant_id) != subject:
        raise PermanentError("derived message names another tenant or edge than its subject")
    if origin.edge == "memories":
        check_memories(origin, rows)
    else:
        _check_enrichment(origin, rows)
    return Derived(origin, rows, sequence)


def _check_enrichment(origin: Origin, rows: pa.RecordBatch) -> None:
    edges.check_schema(origin, rows.schema, _ENRICHMENT[origin.edge])
    if origin.edge == "links":
        unknown = set(rows["edge"].unique().to_pylist()) - set(EDGE_KINDS)
        if unknown:
            raise PermanentError(f"links message has unknown edge types: {', '.join(sorted(unknown))}")
        weights = rows["weight"].to_numpy()
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise PermanentError("links message has a weight that is not above 0")


def within(item: Item, log_end: int) -> Item:
    """The item, if the event it speaks for exists.

    Raises:
        PermanentError: the log of events ends before it.
    """
    claimed = item.order[0]
    if claimed > log_end:
        raise PermanentError(f"message answers event {claimed}, the log ends at {log_end}")
    return item


def edge_of(message: Msg) -> str:
    """The edge that a message of HELIX_DERIVED came on."""
    return message.subject.removeprefix(f"{subjects.ROOT}.derived.").partition(".")[0]


def place_of(message: Msg) -> tuple[int, int]:
    """Where a derived message that cannot be decoded stands among the others; the begin of `order`."""
    edge = edge_of(message)
    return header_sequence(message), subjects.EDGES.index(edge) if edge in subjects.EDGES else 0


def event_sequence_of(message: Msg) -> int | None:
    """The event a message answers, even when its body cannot be decoded; None: it answers none."""
    position = message.metadata
    if position.stream == subjects.EVENTS_STREAM:
        return position.sequence.stream
    return (header_sequence(message) or None) if edge_of(message) == "memories" else None


_ENRICHMENT: Final = {"expansions": edges.expansions_schema(), "links": edges.links_schema()}
