"""Which events of the log have their memories: the event id is read from the id of the message."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.reconciliation.log import _is_explained, _places
from helix_memory import subjects
from helix_memory.identity import memory_id

PLAIN = "acme:mem0:7"


@pytest.mark.parametrize("message_id", [PLAIN, subjects.bound_message_id(PLAIN, "a secret")])
def test_an_event_of_a_user_of_nats_has_its_memories_like_any_other(message_id: str) -> None:
    """Its message id has the digits of the user's secret, which are no part of the event id."""
    message: Any = SimpleNamespace(
        subject="helix.v1.events.acme.-.memory",
        headers={subjects.MSG_ID_HEADER: message_id},
        metadata=SimpleNamespace(sequence=SimpleNamespace(stream=3)),
    )
    (place,) = _places(message)
    for stored, is_explained in (({memory_id("acme", "mem0:7", 0)}, True), (set[str](), False)):
        stores = cast("Any", SimpleNamespace(holds=stored.__contains__))
        assert _is_explained(place, stores, ConsolidationState()) is is_explained
    assert place.event_ids[-1] == "mem0:7"
