"""Messages that arrived too early: corrections before an earlier event, enrichment before its memories.

They stay held in the inbox and are applied once what they wait for is. Delays on the server would add up,
because in a chain of corrections each waits for the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.incoming.decode import completed_event, header_order
from helix_memory.subjects import DERIVED_STREAM, EDGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nats.aio.msg import Msg

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_shared.errors import TemporaryError


class OutOfOrderMessages:
    """At most `most` messages; each stays held, and kept alive, by its inbox."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[int, tuple[tuple[int, int], Msg]] = {}
        """By sequence of HELIX_DERIVED: order and message."""
        self._progress = (0, 0)
        self.events: set[int] = set()
        """The events whose memories these messages hold."""

    def keep(
        self, postponed: Iterable[tuple[Msg, TemporaryError]], state: ConsolidationState
    ) -> list[tuple[Msg, TemporaryError]]:
        """Keep the out-of-order ones of these messages while there is room; returns the others."""
        others: list[tuple[Msg, TemporaryError]] = []
        for message, error in postponed:
            if is_out_of_order(message, state) and len(self._waiting) < self._most:
                self._waiting[message.metadata.sequence.stream] = header_order(message), message
            else:
                others.append((message, error))
        self._collect_events()
        return others

    def take(self, state: ConsolidationState, *, most: int) -> list[Msg]:
        """At most `most` of the messages that can be applied now, in the order of their events.

        A message can be applied once every earlier event, or every earlier derived message, is processed or
        waits here itself. No message is taken twice unless something was processed in between.
        """
        progress = (state.applied.count, state.derived.count)
        if not self._waiting or progress == self._progress:
            return []
        self._progress = progress
        applied, derived = state.applied.floor_with(self.events), state.derived.floor_with(self._waiting)
        due = sorted(
            (order, sequence)
            for sequence, (order, _) in self._waiting.items()
            if order[0] <= applied or order[0] in state.applied or sequence <= derived
        )
        taken = [self._waiting.pop(sequence)[1] for _, sequence in due[:most]]
        self._collect_events()
        return taken

    def _collect_events(self) -> None:
        events = (completed_event(message) for _, message in self._waiting.values())
        self.events = {event for event in events if event is not None}


def is_out_of_order(message: Msg, state: ConsolidationState) -> bool:
    """Whether an event or a derived message before this derived message is not processed yet."""
    position = message.metadata
    event, edge = header_order(message)
    return position.stream == DERIVED_STREAM and state.is_out_of_order(
        event=event, derived=position.sequence.stream, edge=EDGES[edge]
    )
