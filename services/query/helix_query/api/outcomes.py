"""The outcomes of submitted work: each a result, or the error that it ended with."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TypeVar

from helix_query.scheduling.deadline import PASSED, PASSED_IN_QUEUE, left
from helix_shared.errors import OverdueError

T = TypeVar("T")


async def outcomes_of(futures: Sequence[Future[T]], until: float) -> list[T | BaseException]:
    """The results or errors of futures; OverdueError for those not done by `until`."""
    waiting = [asyncio.wrap_future(one) for one in futures]
    try:
        if waiting:
            await asyncio.wait(waiting, timeout=left(until))
    finally:
        # a queued call frees its place now, a running one when its threads end
        for future, one in zip(futures, waiting, strict=True):
            future.cancel()
            one.cancel()
    return list(map(_outcome, futures, waiting))


def _outcome(future: Future[T], waiting: asyncio.Future[T]) -> T | BaseException:
    if not waiting.cancelled():
        return waiting.exception() or waiting.result()
    return OverdueError(PASSED_IN_QUEUE if future.cancelled() else PASSED)


def result_of(outcome: T | BaseException) -> T:
    """The result; raises the error."""
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
