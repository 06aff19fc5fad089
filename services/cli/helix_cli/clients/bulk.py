"""Sending many events: in atomic batches, as large as what is there to be sent.

A batch is stored as a whole and in the order of the file, so sessions, and events that speak of
others, keep their places. Where the stream takes no batch (one of its events is there already, or
the server was away) its events go one by one (`sending`), which ids make safe: importing a file
again changes nothing, and a file known by half gets its rest. An event that comes alone, as from a
pipe, is not kept waiting for others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from helix_cli.clients.sending import IN_FLIGHT, Publish, Tally, chunks_off_thread, send_in_order
from helix_cli.sources.source_event import Entry, Refusal, SourceEvent
from helix_shared.broker.batch import MOST_MESSAGES, Outgoing, split
from helix_shared.broker.publisher import Receipt, event_message

GATHER_SECONDS: Final = 0.01
"""How long a first event waits for company."""

PublishTogether = Callable[[Sequence[Outgoing]], Awaitable[list[Receipt] | None]]


async def send_in_bulk(
    items: Iterable[Entry],
    publish: Publish,
    together: PublishTogether,
    *,
    tally: Tally,
    in_flight: int = IN_FLIGHT,
    settled: Callable[[Entry], None] = lambda _: None,
) -> None:
    """Publish `items` in order, counting in `tally` and calling `settled` for each that is settled.

    Raises:
        HelixError: the server is away or full; what was acknowledged until then is in `tally`.
    """
    async for chunk in chunks_off_thread(items, most=MOST_MESSAGES, gather_seconds=GATHER_SECONDS):
        refusals = [item for item in chunk if isinstance(item, Refusal)]
        tally.refusals += refusals
        for refusal in refusals:
            settled(refusal)
        for batch in _batches([item for item in chunk if isinstance(item, SourceEvent)]):
            messages = [message for _, message in batch]
            receipts = await together(messages) if len(batch) > 1 else None
            if receipts is None:
                alone = [item for item, _ in batch]
                await send_in_order(alone, publish, tally=tally, in_flight=in_flight, settled=settled)
                continue
            for (item, _), receipt in zip(batch, receipts, strict=True):
                tally.count(receipt)
                settled(item)


def _batches(located: Sequence[SourceEvent]) -> list[list[tuple[SourceEvent, Outgoing]]]:
    """Events with their messages, cut where `split` cuts; reading has measured them, so all fit."""
    messages = [event_message(item.event) for item in located]
    pairs = iter(zip(located, messages, strict=True))
    return [[next(pairs) for _ in batch] for batch in split(messages)]
