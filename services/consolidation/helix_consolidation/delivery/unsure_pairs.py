"""Publishing unsure pairs, where somebody asks a language model about them: the stream HELIX_PAIRS exists.

Without it nothing is collected, and the writer asks once a minute whether it is there. Pairs are published
before the generation that holds their decisions: a writer that is killed in between decides and publishes
them again.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_consolidation.delivery.erasing.reading import messages_of, remove_message
from helix_consolidation.delivery.pace import Interval
from helix_consolidation.folding.relate import without_removed
from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.js import JetStreamContext

    from helix_consolidation.stores.shard import Shard
    from helix_memory.transport.publisher import Publishes
    from helix_shared.pairs.messages import UnsurePairs

CHECK_SECONDS: Final = 60.0
MESSAGES_IN_FLIGHT: Final = 128
"""Messages in flight."""

_log = logger(__name__)


class UnsurePairsStore:
    """Used by one writer; `epoch` is that of its lease."""

    def __init__(self, jetstream: JetStreamContext, publisher: Publishes, *, epoch: int) -> None:
        self._jetstream = jetstream
        self._publisher = publisher
        self._epoch = epoch
        self._looking = Interval(CHECK_SECONDS, time.monotonic() - CHECK_SECONDS)

    async def run_due(self, shard: Shard) -> None:
        """Let `shard` collect pairs while there is a stream for them; asks the server once a minute."""
        now = time.monotonic()
        if not self._looking.is_due(now):
            return
        self._looking.last = now
        try:
            await self._jetstream.stream_info(subjects.PAIRS_STREAM)
        except NotFoundError:
            shard.unsure = None
        except UNANSWERED as error:
            _log.warning("stream of pairs not checked", reason=reason_of(error))
        else:
            shard.unsure = [] if shard.unsure is None else shard.unsure

    async def store(self, shard: Shard) -> None:
        """Publish what `shard` collected, without texts that were forgotten or erased since.

        Messages that were published with such a text are removed from the stream, all pairs of the event.

        Raises:
            TemporaryError: the stream does not acknowledge; the rest stays collected.
            NatsError: it does not remove a message; the rest stays collected.
        """
        while shard.unasked:
            tenant_id, event = next(iter(shard.unasked))
            subject = subjects.pairs_subject(tenant_id, event)
            # one by one: a purge would leave the bytes
            async for message in messages_of(self._jetstream, subjects.PAIRS_STREAM, subject):
                sequence = message.metadata.sequence.stream
                await remove_message(self._jetstream, subjects.PAIRS_STREAM, sequence)
            shard.unasked.remove((tenant_id, event))
        while shard.unsure:
            some = shard.unsure[:MESSAGES_IN_FLIGHT]
            kept = filter(None, (without_removed(shard.state, pairs) for pairs in some))
            await asyncio.gather(*map(self._publish, kept))
            del shard.unsure[: len(some)]

    async def _publish(self, pairs: UnsurePairs) -> None:
        await self._publisher.publish(
            subjects.pairs_subject(pairs.tenant_id, pairs.event_sequence),
            pairs.model_dump_json().encode("utf-8", "surrogatepass"),
            message_id=subjects.pairs_message_id(pairs.event_sequence, self._epoch),
            headers={subjects.EVENT_SEQUENCE_HEADER: str(pairs.event_sequence)},
        )
