"""Compares the log with a generation: every applied event has its memories, or a reason why it has none.

An event without memories may be one that gives none. That only ingest can tell, so it is asked, for a bounded
number of events.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.ledger.event_reach import value_code
from helix_consolidation.stores.state_files import restore_state
from helix_memory import events, subjects
from helix_memory.transport.dead_letters import letters_from
from helix_shared import edges
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.worker.rederive import Rederived, request_derivation
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.identity import memory_id
from helix_shared.shard_map import ONLY_SHARD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nats.aio.client import Client

    from helix_consolidation.reconciliation.compare import Comparison
    from helix_shared.event_log.record import EventRecord
    from helix_shared.shard_map import ShardPlace

MOST_EVENTS: Final = 100_000
"""Newest applied events that are looked at."""
MOST_ASKED: Final = 200
"""Events without memories about which ingest is asked: the newest, and those of documents last."""
_WITHOUT_MEMORIES: Final = frozenset({*events.LIFECYCLE_KINDS, "session"})


@dataclass(frozen=True, slots=True)
class MissingEvent:
    """An applied event whose memories are in no store; `derived` is its memories message of now."""

    sequence: int
    tenant_id: str
    event_id: str
    derived: Rederived


@dataclass(frozen=True, slots=True)
class LogComparison:
    """Events looked at, and what they lack; `unasked` have no memories, and nobody could say why."""

    events: int
    missing: list[MissingEvent]
    unasked: int


@dataclass(frozen=True, slots=True)
class _EventToCheck:
    sequence: int
    tenant_id: str
    event_ids: tuple[str, ...]
    """The message id allows these."""
    kind: str

    @property
    def rank(self) -> tuple[bool, int]:
        """Sort key: a deletion of a document never has memories, and its header does not tell it."""
        return self.kind == "document", -self.sequence


def read_state(root: Path, generation: int) -> ConsolidationState:
    """The state of the writer in a generation, for its erased memories.

    Raises:
        CorruptArtifactError: it cannot be read.
    """
    state = ConsolidationState()
    restore_state(state, folder_of(root, generation))
    return state


async def compare_log(
    client: Client,
    stores: Comparison,
    state: ConsolidationState,
    *,
    most_events: int = MOST_EVENTS,
    place: ShardPlace = ONLY_SHARD,
) -> LogComparison:
    """Compare the newest `most_events` applied events with the memories of `stores`.

    `state` is that of the same generation, `place` the shard that it is of.

    Raises:
        nats.errors.Error, TemporaryError: NATS does not answer.
    """
    end = stores.manifest.applied_sequence
    letters = {letter.event_sequence async for letter in letters_from(client.jetstream(), 1)}
    seen, empty = 0, list[_EventToCheck]()
    before, every = max(0, end - most_events), [subjects.ALL_EVENTS]
    async for records in read_range(
        client, subjects.EVENTS_STREAM, every, after=before, until=end, headers_only=True
    ):
        seen += len(records)
        own = (record for record in records if place.owns_subject(record.subject))
        empty += [
            event
            for event in itertools.chain.from_iterable(map(_events_to_check, own))
            if event.sequence not in letters and not _is_explained(event, stores, state)
        ]
    missing, unasked = list[MissingEvent](), max(0, len(empty) - MOST_ASKED)
    asked = sorted(empty, key=lambda one: one.rank)[:MOST_ASKED]
    for event in sorted(asked, key=lambda one: one.sequence):
        try:
            derived = await request_derivation(client, "memories", sequence=event.sequence, redrive=True)
        except PermanentError:
            continue  # it is refused, and its letter was dropped
        except TemporaryError:
            unasked += 1
            continue
        _, rows = edges.decode(derived.body)
        if event.sequence in rows["stream_sequence"].to_pylist():
            missing.append(MissingEvent(event.sequence, event.tenant_id, event.event_ids[-1], derived))
    return LogComparison(seen, missing, unasked)


def _events_to_check(record: EventRecord) -> Iterator[_EventToCheck]:
    """The event of a message, if it may have memories; its id is in a header, so no body is read."""
    address = subjects.parse_event_subject(record.subject)
    stated = record.message_id
    tenant = stated.partition(":")[0]
    event_ids = subjects.event_ids_of(stated)
    if address and address.kind not in _WITHOUT_MEMORIES and tenant == address.tenant_id and all(event_ids):
        yield _EventToCheck(record.sequence, tenant, event_ids, address.kind)


def _is_explained(place: _EventToCheck, stores: Comparison, state: ConsolidationState) -> bool:
    """Whether the first memory of an event is there, or was erased."""
    erased = state.tombstones.erased_memories
    return any(
        stores.holds(first) or value_code(place.tenant_id, "memory", first) in erased
        for first in (memory_id(place.tenant_id, one, 0) for one in place.event_ids)
    )
