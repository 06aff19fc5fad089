"""Publishing events one by one, many at once, in the order of each session.

The next event of a session is sent when the one before it is acknowledged; sessions run concurrently. Events
that refer to others (correct, forget, erase, undo, feedback) wait for all events before them, and all events
after them wait, because their effect depends on their position in the stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from helix_memory import events
from helix_memory.transport.publisher import PubAck
from helix_shared.errors import InvalidInputError
from helix_shared.sources.source_event import Entry, Refusal, SourceEvent

IN_FLIGHT: Final = 64
AHEAD: Final = 1_000
"""Events read ahead, so that a long session in a file does not delay the others."""
ALONE: Final = (
    events.CorrectEvent,
    events.ForgetEvent,
    events.EraseEvent,
    events.UndoEvent,
    events.FeedbackEvent,
)
"""Events that refer to others; each is sent alone."""

T = TypeVar("T")
Publish = Callable[[events.Event], Awaitable[PubAck]]


@dataclass(slots=True)
class Tally:
    """Counts of published, duplicate and refused events."""

    published: int = 0
    duplicates: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    expected: set[str] = field(default_factory=set)
    """Places of events that were refused where an export was made; they fail no command."""
    refused_before: list[Refusal] = field(default_factory=list)
    """Those of them that were refused here, too."""
    last_sequence: int = 0
    seconds: float = 0.0
    places: dict[int, str] | None = None
    """Where each acknowledged event was read, by its sequence; None: nobody asks what became of them."""
    tenants: set[str] = field(default_factory=set)
    """Those of the acknowledged events."""
    letters_before: int = 0
    """Sequence of the last dead letter before the first event was published."""

    def count(self, ack: PubAck, *, where: str, tenant_id: str) -> None:
        """Count an acknowledged event; a duplicate has the sequence of its first copy."""
        self.tenants.add(tenant_id)
        if self.places is not None:
            self.places[ack.sequence] = where
        self.published += not ack.duplicate
        self.duplicates += ack.duplicate
        self.last_sequence = max(self.last_sequence, ack.sequence)


async def send_in_order(
    items: Iterable[Entry],
    publish: Publish,
    *,
    tally: Tally,
    in_flight: int = IN_FLIGHT,
    settled: Callable[[Entry], None] = lambda _: None,
) -> None:
    """Publish `items`, count them in `tally`, and call `settled` for each that is published or refused.

    Raises:
        HelixError: the server does not answer or is full; `tally` has what was acknowledged until then.
    """
    sender = _Sender(publish, tally, in_flight, settled)
    try:
        async for item in off_thread(items, ahead=AHEAD):
            if isinstance(item, Refusal):
                sender.refuse(item)
            else:
                await sender.take(item)
        await sender.finish()
    finally:
        await sender.cancel()


async def off_thread(items: Iterable[T], *, ahead: int = AHEAD) -> AsyncIterator[T]:
    """As `chunks_off_thread`, one item at a time."""
    async for chunk in chunks_off_thread(items, most=1, ahead=ahead):
        yield chunk[0]


async def chunks_off_thread(
    items: Iterable[T], *, most: int, gather_seconds: float = 0.0, ahead: int = AHEAD
) -> AsyncIterator[list[T]]:
    """Read a blocking iterable (a file, a pipe) in a thread, at most `ahead` items ahead.

    A chunk has at most `most` items: those read while the previous chunk was processed and within
    `gather_seconds` of its first item. While a pipe is silent, the event loop still answers NATS, and Ctrl-C
    does not wait for the next line.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[T] | BaseException | None] = asyncio.Queue()
    room = threading.Semaphore(ahead)

    def put(entry: tuple[T] | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it the reader
            loop.call_soon_threadsafe(queue.put_nowait, entry)

    def pump() -> None:
        try:
            for item in items:
                room.acquire()
                put((item,))
            put(None)
        except Exception as error:  # noqa: BLE001  raised again by the reader below
            put(error)

    threading.Thread(target=pump, daemon=True, name="reader").start()
    while isinstance(entry := await queue.get(), tuple):
        if gather_seconds and queue.qsize() < most - 1:
            await asyncio.sleep(gather_seconds)
        chunk = [entry[0]]
        while len(chunk) < most and not queue.empty():
            following = queue.get_nowait()
            if not isinstance(following, tuple):
                queue.put_nowait(following)  # the end marker
                break
            chunk.append(following[0])
        room.release(len(chunk))
        yield chunk
    if entry is not None:
        raise entry


class _Sender:
    """Unsettled events: one task each, which waits for the previous task of its lane."""

    def __init__(
        self,
        publish: Publish,
        tally: Tally,
        in_flight: int,
        settled: Callable[[Entry], None],
    ) -> None:
        self._publish = publish
        self._tally = tally
        self._settled = settled
        self._in_flight = asyncio.Semaphore(in_flight)
        self._room = asyncio.Semaphore(AHEAD)
        self._tails: dict[str, asyncio.Task[None]] = {}
        self._open: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self._wake = asyncio.Event()

    def refuse(self, refusal: Refusal) -> None:
        self._tally.refusals.append(refusal)
        self._settled(refusal)

    async def take(self, item: SourceEvent) -> None:
        """Start sending the event; waits while too many are unsettled, and if the event is sent alone."""
        alone = isinstance(item.event, ALONE)
        if alone:
            await self.finish()
        await self._room.acquire()
        self._raise_failure()
        lane = _lane(item.event)
        task = asyncio.create_task(self._send(item, self._tails.get(lane)))
        self._tails[lane] = task
        self._open.add(task)
        task.add_done_callback(functools.partial(self._task_done, lane))
        if alone:
            await self.finish()

    async def finish(self) -> None:
        """Return when every event is settled; raise at once when one failed."""
        while self._open and self._failure is None:
            self._wake.clear()
            await self._wake.wait()
        self._raise_failure()

    async def cancel(self) -> None:
        """Cancel the unsettled events."""
        open_tasks = list(self._open)
        for task in open_tasks:
            task.cancel()
        await asyncio.gather(*open_tasks, return_exceptions=True)

    async def _send(self, item: SourceEvent, predecessor: asyncio.Task[None] | None) -> None:
        if predecessor is not None:
            await predecessor
        async with self._in_flight:
            try:
                ack = await self._publish(item.event)
                self._tally.count(ack, where=item.where, tenant_id=item.event.tenant_id)
            except InvalidInputError as error:
                self.refuse(Refusal(item.where, error.field, error.reason))
            else:
                self._settled(item)

    def _task_done(self, lane: str, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._room.release()
        if self._tails.get(lane) is task:
            del self._tails[lane]
        if not task.cancelled() and self._failure is None:
            self._failure = task.exception()
        self._wake.set()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _lane(event: events.Event) -> str:
    """Key of the lane of an event; events of one lane are sent in order."""
    if event.session_id:
        return f"{event.tenant_id} session {event.session_id}"
    if isinstance(event, events.DocumentEvent):
        return f"{event.tenant_id} document {event.document_id}"
    return f"{event.tenant_id} {event.event_id}"
