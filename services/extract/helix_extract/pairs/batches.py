"""Collects what several handlers ask at about the same time, so that one question serves them.

A batch has the items of one group. It is complete with `most` units, or `seconds` after its first item.
"""

from __future__ import annotations

import asyncio
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
    """Used from one event loop; `ask` returns one answer for each item.

    `pause` waits so many seconds; its error ends the wait of a batch, which is not asked about then.
    """

    def __init__(
        self,
        ask: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
        *,
        most: int,
        seconds: float,
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self._ask = ask
        self._pause = pause
        self._most = most
        self._seconds = seconds
        self._open: dict[Hashable, _Batch[Item, Answer]] = {}

    async def answer(self, group: Hashable, item: Item, *, size: int) -> Answer:
        """The answer for one item of `size` units, asked together with others of its group.

        Raises: as `ask` and `pause`; every item of the batch gets the error.
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
        filling = asyncio.ensure_future(batch.is_full.wait())
        pausing = asyncio.ensure_future(self._pause(self._seconds))
        try:
            await asyncio.wait((filling, pausing), return_when=asyncio.FIRST_COMPLETED)
            if pausing.done():
                await pausing
        finally:
            self._close(group, batch)
            filling.cancel()
            pausing.cancel()
        return await self._ask(batch.items)

    def _close(self, group: Hashable, batch: _Batch[Item, Answer]) -> None:
        batch.is_full.set()
        if self._open.get(group) is batch:
            del self._open[group]
