"""A writer whose work on the stores hangs ends its process, and the next one loses nothing."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from .conftest import PATIENCE_SECONDS, Stack, row

pytestmark = pytest.mark.integration

STUCK: Final = """
import threading
from helix_consolidation.__main__ import main
from helix_consolidation.stores.shard import Shard

def apply(*_, **__):
    threading.Event().wait()

Shard.apply = apply
main()
"""
"""The writer with a `Shard.apply` that never returns."""


async def test_work_on_the_stores_that_never_ends_ends_the_process(stack: Stack) -> None:
    """Exit code 1 and the reason in the log; the next process applies the same messages."""
    await stack.log_events(1)
    await stack.derive("e0", 1, [row("e0", 1, "text")])
    process = stack.start(code=STUCK, deadline_seconds="1")
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) == 1
    assert "apply did not end within its deadline of 1 s" in stack.log(process)
    stack.start()
    manifest = await stack.until(lambda m: m.derived_sequence == 1)
    assert (manifest.counts.memories, manifest.applied_sequence) == (1, 1)
    await stack.until_acknowledged()
