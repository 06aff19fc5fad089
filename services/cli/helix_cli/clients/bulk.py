"""Publishing many events in atomic batches of the events that are ready.

The stream stores a batch as a whole and in the order of the file. If it refuses a batch (because it has one
of the events already) or does not answer, the events are sent one by one (`sending`). That is safe because
of their ids: a file that was published in part gets its rest. A single event, as from a pipe, is sent
without waiting for others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from helix_cli.clients.sending import IN_FLIGHT, Publish, Tally, chunks_off_thread, send_in_order
from helix_memory.transport.batch import MOST_MESSAGES, Outgoing, split
from helix_memory.transport.publisher import PubAck, event_message
from helix_shared.sources.source_event import Entry, Refusal, SourceEvent

GATHER_SECONDS: Final = 0.01
"""How long the first event of a batch waits for others."""

PublishBatch = Callable[[Sequence[Outgoing]], Awaitable[list[PubAck] | None]]


async def send_in_bulk(
    items: Iterable[Entry],
    publish: Publish,
    publish_batch: PublishBatch,
    *,
    tally: Tally,
    in_flight: int = IN_FLIGHT,
    settled: Callable[[Entry], None] = lambda _: None,
) -> None:
    """Publish `items` in order, count them in `tally`, and call `settled` for each published or refused one.

    Raises:
        HelixError: the server does not answer or is full; `tally` has what was acknowledged until then.
    """
    async for chunk in chunks_off_thread(items, most=MOST_MESSAGES, gather_seconds=GATHER_SECONDS):
        refusals = [item for item in chunk if isinstance(item, Refusal)]
        tally.refusals += refusals
        for refusal in refusals:
            settled(refusal)
        for batch in _batches([item for item in chunk if isinstance(item, SourceEvent)]):
            messages = [message for _, message in batch]
            acks = await publish_batch(messages) if len(batch) > 1 else None
            if acks is None:
                unsent = [item for item, _ in batch]
                await send_in_order(unsent, publish, tally=tally, in_flight=in_flight, settled=settled)
                continue
            for (item, _), ack in zip(batch, acks, strict=True):
                tally.count(ack, where=item.where, tenant_id=item.event.tenant_id)
                settled(item)


def _batches(sources: Sequence[SourceEvent]) -> list[list[tuple[SourceEvent, Outgoing]]]:
    """Events with their messages, in the batches of `split`."""
    messages = [event_message(item.event) for item in sources]
    pairs = iter(zip(sources, messages, strict=True))
    return [[next(pairs) for _ in batch] for batch in split(messages)]
