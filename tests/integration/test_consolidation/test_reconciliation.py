"""The stores of a generation against each other and against the log, by the writer at its hour."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nats.aio.msg import Msg

from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.reconciliation import log as log_module
from helix_consolidation.reconciliation.compare import compare
from helix_memory import events
from helix_memory.identity import memory_id
from helix_shared import edges
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.broker.worker.rederive import Rederived, derivation_responder, header_sequence

from .conftest import DIMENSIONS, Stack, row

pytestmark = pytest.mark.integration


async def test_stores_agree_after_forget_erase_and_a_restart(stack: Stack) -> None:
    """A hidden memory is not in the lexicon, an erased one in no store: that is no difference."""
    await stack.log_events(6)
    stack.start()
    for number in range(6):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await stack.until(lambda m: m.counts.memories == 6)
    scope: dict[str, Any] = {"tenant_id": "acme"}
    ids = [memory_id("acme", f"e{number}", 0) for number in range(6)]
    await stack.publish_event(events.ForgetEvent(event_id="f", memory_ids=[ids[0]], **scope))
    await stack.publish_event(events.EraseEvent(event_id="x", memory_ids=[ids[1]], **scope))
    await stack.until(lambda m: (m.counts.memories, m.counts.hidden) == (5, 1))
    await stack.stopped()
    number = current_number(stack.data)
    assert number is not None
    found = compare(stack.data, number)
    assert found.differences == []
    assert found.counts == {"memories": 5, "hidden": 1, "lexicon": 4, "signals": 6, "graph": 5}
    assert found.holds(ids[0])
    assert not found.holds(ids[1])


async def test_the_writer_reconciles_at_its_hour_and_goes_on_writing(stack: Stack) -> None:
    """Beside its work; without ingest nobody says whether an event without memories should have some."""
    hour = str(datetime.now(UTC).hour)
    process = stack.start(reconcile_hour=hour)
    await stack.log_events(2)
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until_logged(process, '"event": "reconciled"')
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    await stack.until(lambda m: m.counts.memories == 2)
    log = stack.log(process)
    assert '"differences": 0' in log
    assert "stores differ" not in log
    assert log.count('"event": "reconciled"') == 1, "once a day"


async def test_many_deleted_documents_hide_no_lost_memory(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They never have memories, and came first: ingest was asked about them alone, every night."""
    monkeypatch.setattr(log_module, "MOST_ASKED", 2)
    scope: dict[str, Any] = {"tenant_id": "acme"}
    deletions = [
        events.DocumentEvent(event_id=f"d{n}", document_id=f"d{n}", deleted=True, **scope) for n in range(4)
    ]
    for deletion in deletions[:3]:
        await stack.publish_event(deletion)
    lost = await stack.publish_event(events.MemoryEvent(event_id="lost", text="It rains.", **scope))
    last = await stack.publish_event(deletions[3])

    async def respond(request: Msg) -> Rederived:
        sequence = header_sequence(request)
        rows = [row("lost", sequence, "It rains.")] if sequence == lost else []
        origin = edges.Origin("memories", "acme", "lost", "memory", sequence)
        return Rederived(edges.encode(origin, rows, edges.memories_schema(DIMENSIONS)))

    nothing = SimpleNamespace(manifest=SimpleNamespace(applied_sequence=last), holds=lambda _: False)
    async with derivation_responder(stack.client, "memories", respond):
        found = await log_module.compare_log(stack.client, cast("Any", nothing), ConsolidationState())
    assert [one.sequence for one in found.missing] == [lost]
    assert (found.events, found.unasked) == (5, 3)
