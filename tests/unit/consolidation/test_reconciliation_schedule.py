"""When log and stores are compared: once in the hour of a day, and again after a failure."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helix_consolidation.reconciliation import schedule

THREE = datetime(2026, 5, 1, 3, tzinfo=UTC)


@pytest.mark.parametrize("failure", [OSError("the disk"), ValueError("an engine")])
async def test_a_comparison_that_failed_is_tried_again_in_the_same_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """NATS was away for a second, and the next attempt was a day later."""
    now, tried = THREE, list[datetime]()

    def read(*_: object) -> Any:
        tried.append(now)
        if len(tried) == 1:
            raise failure
        return SimpleNamespace(differences=[], counts={}), None

    async def compare_log(*_: object, **__: object) -> Any:
        return SimpleNamespace(events=0, unasked=0, missing=[])

    monkeypatch.setattr(schedule, "_read", read)
    monkeypatch.setattr(schedule, "compare_log", compare_log)
    reconciliation = schedule.Reconciliation(cast("Any", None), tmp_path, hour=3)
    for number in range(12):
        now = THREE + number * schedule.RETRY_AFTER / 4
        reconciliation.run_due(1, now)
        if reconciliation._running is not None:
            await asyncio.wait([reconciliation._running])
    assert len(tried) == 2, "once after the failure, and not after the success"
    assert tried[1] - tried[0] >= schedule.RETRY_AFTER
    reconciliation.run_due(1, THREE + timedelta(days=1))
    assert reconciliation._running is not None
    await reconciliation._running
    assert len(tried) == 3
