"""Messages that arrive before those they depend on, as after a slow event."""

from __future__ import annotations

import asyncio

import pytest

from helix_memory import subjects
from helix_shared.broker import streams
from helix_shared.identity import memory_id

from .conftest import Stack, row

pytestmark = pytest.mark.integration

CORRECTIONS = 20


async def test_corrections_are_applied_as_soon_as_the_first_event_is(stack: Stack) -> None:
    """Twenty corrections of each other wait for the first event without redelivery."""
    ids = [memory_id("acme", f"e{number}", 0) for number in range(CORRECTIONS + 1)]
    await stack.log_events(CORRECTIONS + 1)
    stack.start()
    for number in sorted(range(1, CORRECTIONS + 1), key=lambda number: number * 7 % 23):
        text, corrected = f"port {number}", ids[number - 1]
        await stack.derive(
            f"e{number}", number + 1, [row(f"e{number}", number + 1, text, corrects=corrected)]
        )
        await stack.enrich(f"e{number}", number + 1)
    durable = (subjects.DERIVED_STREAM, streams.CONSOLIDATION_DERIVED)
    while (await stack.client.jetstream().consumer_info(*durable)).num_pending:  # noqa: ASYNC110  a server's
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)

    await stack.derive("e0", 1, [row("e0", 1, "port 0")])
    manifest = await stack.until(lambda m: m.derived_sequence == 3 * CORRECTIONS + 1)

    assert manifest.counts.hidden == CORRECTIONS
    assert {r["memory_id"] for r in stack.rows() if not r["hidden"]} == {ids[-1]}
    assert manifest.counts.entities == 1
    assert (await stack.client.jetstream().consumer_info(*durable)).num_redelivered == 0
    await stack.until_acknowledged()
