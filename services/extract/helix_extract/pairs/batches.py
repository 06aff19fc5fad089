"""Collects what several handlers ask at about the same time, so that one question serves them.

A batch has the items of one group. It is complete with `most` units, or `seconds` after its first item.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Batch(Generic[Item, Answer]):
    items: list[Item] = field(default_factory=list)
    size: int = 0
    is_full: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Task[Sequence[Answer]] | None = None


class Batches(Generic[Item, Answer]):
    """Used from one event loop; `ask` returns one answer for each item."""

    def __init__(
        self, ask: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]], *, most: int, seconds: float
    ) -> None:
        self._ask = ask
        self._most = most
        self._seconds = seconds
        self._open: dict[Hashable, _Batch[Item, Answer]] = {}

    async def answer(self, group: Hashable, item: Item, *, size: int) -> Answer:
        """The answer for one item of `size` units, asked together with others of its group.

        Raises: as `ask`; every item of the batch gets its error.
        """
        batch = self._open.get(group)
        if batch is not None and batch.size + size > self._most:
            self._close(group, batch)
            batch = None
        if batch is None:
            batch = self._open[group] = _Batch()
            batch.answers = asyncio.create_task(self._run(group, batch))
        place = len(batch.items)
        batch.items.append(item)
        batch.size += size
        if batch.size >= self._most:
            self._close(group, batch)
        assert batch.answers is not None  # noqa: S101  set when the batch was opened
        # one handler that is given up must not end the question of the others
        return (await asyncio.shield(batch.answers))[place]

    async def _run(self, group: Hashable, batch: _Batch[Item, Answer]) -> Sequence[Answer]:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(batch.is_full.wait(), self._seconds)
        self._close(group, batch)
        return await self._ask(batch.items)

    def _close(self, group: Hashable, batch: _Batch[Item, Answer]) -> None:
        batch.is_full.set()
        if self._open.get(group) is batch:
            del self._open[group]
