"""Which events of the log have their memories: the event id is read from the id of the message."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.reconciliation.log import _events_to_check, _is_explained
from helix_memory import subjects
from helix_memory.identity import memory_id
from helix_shared.event_log.record import EventRecord

PLAIN = "acme:mem0:7"


@pytest.mark.parametrize("message_id", [PLAIN, subjects.bound_message_id(PLAIN, "a secret")])
def test_an_event_of_a_user_of_nats_has_its_memories_like_any_other(message_id: str) -> None:
    """Its message id has the digits of the user's secret, which are no part of the event id."""
    stored_at = datetime(2026, 11, 30, tzinfo=UTC)
    record = EventRecord(3, "helix.v1.events.acme.-.memory", stored_at, b"", message_id, {})
    (place,) = _events_to_check(record)
    for stored, is_explained in (({memory_id("acme", "mem0:7", 0)}, True), (set[str](), False)):
        stores = cast("Any", SimpleNamespace(holds=stored.__contains__))
        assert _is_explained(place, stores, ConsolidationState()) is is_explained
    assert place.event_ids[-1] == "mem0:7"
