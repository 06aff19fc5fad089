"""The stores of a generation against each other and against the log, by the writer at its hour."""

from datetime import UTC, datetime
from typing import Any

import pytest

from helix_consolidation.reconciliation.compare import compare
from helix_memory import events
from helix_memory.identity import memory_id
from helix_shared.artifacts.generation.folders import current_number

from .conftest import Stack, row

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
