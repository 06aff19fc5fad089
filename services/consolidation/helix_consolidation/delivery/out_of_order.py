"""Messages that came too early: corrections before an earlier event, enrichment before its memories.

They stay held in the inbox, and are applied again once what they waited for is. Delays on the server would
add up: in a chain of corrections each waits for the one before. `shard` postpones them, `writer` offers them
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.decode import event_sequence_of, place_of
from helix_memory.subjects import DERIVED_STREAM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nats.aio.msg import Msg

    from helix_consolidation.folding.context import ConsolidationState
    from helix_shared.errors import TemporaryError


class OutOfOrderMessages:
    """Up to `most` early messages; every one stays held, and kept alive, by its inbox."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[int, Msg] = {}
        """By sequence of HELIX_DERIVED."""
        self._progress = (0, 0)
        self.events: set[int] = set()
        """The events that these messages will answer."""

    def keep(
        self, postponed: Iterable[tuple[Msg, TemporaryError]], state: ConsolidationState
    ) -> list[tuple[Msg, TemporaryError]]:
        """Keep the early ones of these messages, as far as there is room; returns the others."""
        others: list[tuple[Msg, TemporaryError]] = []
        for message, error in postponed:
            if is_out_of_order(message, state) and len(self._waiting) < self._most:
                self._waiting[message.metadata.sequence.stream] = message
            else:
                others.append((message, error))
        self._count()
        return others

    def take(self, state: ConsolidationState, *, most: int) -> list[Msg]:
        """At most `most` of the messages that can be applied now, in the order of their events.

        A message can be once every event before it, or every derived message before it, is answered or waits
        here itself. Nothing is given out twice without anything answered in between.
        """
        progress = (state.applied.processed, state.derived.processed)
        if not self._waiting or progress == self._progress:
            return []
        self._progress = progress
        applied, derived = state.applied.floor_with(self.events), state.derived.floor_with(self._waiting)
        due = sorted(
            (place_of(message), sequence)
            for sequence, message in self._waiting.items()
            if place_of(message)[0] <= applied or place_of(message)[0] in state.applied or sequence <= derived
        )
        taken = [self._waiting.pop(sequence) for _, sequence in due[:most]]
        self._count()
        return taken

    def _count(self) -> None:
        events = (event_sequence_of(message) for message in self._waiting.values())
        self.events = {event for event in events if event is not None}


def is_out_of_order(message: Msg, state: ConsolidationState) -> bool:
    """Whether an event or a derived message before this message is not answered yet."""
    position = message.metadata
    return position.stream == DERIVED_STREAM and (
        place_of(message)[0] > state.applied.floor + 1 or position.sequence.stream > state.derived.floor + 1
    )
