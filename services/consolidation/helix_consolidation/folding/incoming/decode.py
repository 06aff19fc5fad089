"""Decoding a delivered message into an item for `fold`, with all checks of its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.incoming.rows import (
    check_links,
    check_memories,
    check_statements,
    check_verdicts,
)
from helix_memory import subjects
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent, UndoEvent
from helix_shared import edges
from helix_shared.broker.stored_at import stored_at
from helix_shared.broker.worker.rederive import header_sequence
from helix_shared.edges import Origin
from helix_shared.errors import PermanentError
from helix_shared.moments import microseconds
from helix_shared.published import published_event

if TYPE_CHECKING:
    import pyarrow as pa
    from nats.aio.msg import Msg

LifecycleEvent = ForgetEvent | EraseEvent | UndoEvent | FeedbackEvent


@dataclass(frozen=True, slots=True)
class Derived:
    """A message of HELIX_DERIVED; `sequence` is its own, `origin.event_sequence` the event's."""

    origin: Origin
    rows: pa.RecordBatch
    sequence: int

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key: the event, then memories before their enrichment, then the own sequence."""
        return self.origin.event_sequence, subjects.EDGES.index(self.origin.edge), self.sequence


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A forget, erase, undo or feedback event; `at` is when the server stored it, in microseconds."""

    event: LifecycleEvent
    sequence: int
    at: int

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key among the derived messages."""
        return self.sequence, 0, 0


Item = Derived | Lifecycle


def decode(message: Msg, *, log_end: int) -> Item:
    """The item in a message of either stream; `log_end` is the last sequence of HELIX_EVENTS.

    Raises:
        IncompatibleError: a worker of another release made it.
        PermanentError: it is malformed, names another tenant than its subject, or an event after `log_end`.
    """
    if message.metadata.stream == subjects.EVENTS_STREAM:
        return _lifecycle(message)
    item = _derived(message)
    if item.origin.event_sequence > log_end:
        raise PermanentError(
            f"message is derived from event {item.origin.event_sequence}, the log ends at {log_end}"
        )
    return item


def header_order(message: Msg) -> tuple[int, int]:
    """The first two parts of `Derived.order`, from subject and header: known without decoding the body."""
    edge = subjects.edge_of(message.subject)
    return header_sequence(message), subjects.EDGES.index(edge) if edge in subjects.EDGES else 0


def completed_event(message: Msg) -> int | None:
    """The event that counts as processed once this message is, from its header; None: there is none."""
    position = message.metadata
    if position.stream == subjects.EVENTS_STREAM:
        return position.sequence.stream
    return (header_sequence(message) or None) if subjects.edge_of(message.subject) == "memories" else None


def _lifecycle(message: Msg) -> Lifecycle:
    event = published_event(message.subject, message.data)
    if not isinstance(event, LifecycleEvent):
        raise PermanentError(f"kind: {event.kind} is not for consolidation")
    return Lifecycle(event, message.metadata.sequence.stream, microseconds(stored_at(message)))


def _derived(message: Msg) -> Derived:
    origin, rows = edges.decode(message.data)
    if subjects.derived_subject(origin.edge, origin.tenant_id) != message.subject:
        raise PermanentError("derived message names another tenant or edge than its subject")
    if origin.edge == "memories":
        check_memories(origin, rows)
    elif origin.edge == "statements":
        check_statements(origin, rows)
    elif origin.edge == "verdicts":
        check_verdicts(origin, rows)
    else:
        _check_enrichment(origin, rows)
    return Derived(origin, rows, message.metadata.sequence.stream)


def _check_enrichment(origin: Origin, rows: pa.RecordBatch) -> None:
    edges.check_schema(origin, rows.schema, _ENRICHMENT[origin.edge])
    if origin.edge == "links":
        check_links(rows["edge"], rows["weight"])


_ENRICHMENT: Final = {"expansions": edges.expansions_schema(), "links": edges.links_schema()}
