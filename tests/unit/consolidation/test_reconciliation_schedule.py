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
    now, tried = 0.0, list[float]()
    monkeypatch.setattr(schedule, "time", SimpleNamespace(monotonic=lambda: now))

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
    step = schedule.AGAIN_SECONDS / 4
    for minute in range(12):
        now = minute * step
        reconciliation.run_due(1, THREE + timedelta(minutes=minute))
        if reconciliation._running is not None:
            await asyncio.wait([reconciliation._running])
    assert len(tried) == 2, "once after the failure, and not after the success"
    assert tried[1] - tried[0] >= schedule.AGAIN_SECONDS
    reconciliation.run_due(1, THREE + timedelta(days=1))
    assert reconciliation._running is not None
    await reconciliation._running
    assert len(tried) == 3
