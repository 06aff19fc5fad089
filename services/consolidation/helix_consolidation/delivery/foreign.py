"""When a generation is due for messages of other shards, which this writer only counts as processed.

They change no memory, so they wait longer than own ones. They do not wait where an own event that is applied
could not be told to be: `applied_sequence` has no gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.incoming.decode import completed_event

if TYPE_CHECKING:
    from helix_consolidation.stores.outcome import Outcome
    from helix_consolidation.stores.shard import Shard


class ForeignMessages:
    """Whether messages of other shards were counted since the last generation."""

    def __init__(self, shard: Shard, *, every_seconds: float) -> None:
        """Without anything else, they are published after `every_seconds`."""
        self._shard = shard
        self._every_seconds = every_seconds
        self._own_end = shard.state.applied.highest
        self._are_some = False

    def note(self, outcome: Outcome) -> bool:
        """Note what a batch counted; returns whether an event of this shard waits for the next generation."""
        own = [event for message in outcome.done if (event := completed_event(message)) is not None]
        self._own_end = max(self._own_end, *own) if own else self._own_end
        if not outcome.foreign:
            return False
        self._are_some = True
        published = 0 if self._shard.manifest is None else self._shard.manifest.applied_sequence
        return published < min(self._own_end, self._shard.state.applied.floor)

    def is_due(self, seconds: float) -> bool:
        """Whether a generation that was published `seconds` ago is to be followed because of them."""
        return self._are_some and seconds >= self._every_seconds

    def published(self) -> list[str]:
        """Forget what was counted, which a generation now covers; returns the reasons for the log."""
        were_some, self._are_some = self._are_some, False
        return ["messages of other shards"] if were_some else []
