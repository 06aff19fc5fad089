"""The log of one tenant is applied to stores that counted its events as processed, since they were another's.

What the writer remembers of a tenant is found by names of that tenant, except positions: they are those of
the streams, of all tenants. So the tenant has positions of its own while its log is applied.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.incoming.decode import completed_event
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nats.aio.msg import Msg

    from helix_consolidation.stores.shard import Shard

_POSITIONS: Final = (
    "applied",
    "derived",
    "postponed",
    "unstored_dead_letters",
    "latest_derived",
    "provisional",
    "undecided",
    "pending",
)
"""Of `ConsolidationState`."""


class TenantLog:
    """The log of a tenant on its way into a shard; made by `tenant_log`."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._postponed: list[Msg] = []

    def apply(self, messages: Sequence[Msg], *, until: int, now: int) -> None:
        """Apply the messages of the next events, in order; the tenant has no others up to event `until`.

        `now` is in microseconds. What a writer would refuse is left out: its dead letter is there.

        Raises:
            IncompatibleError: vectors of another model than that of the shard.
        """
        batch = [*self._postponed, *messages]
        own = {completed_event(message) for message in batch}
        applied = self._shard.state.applied
        for sequence in range(applied.floor + 1, until + 1):
            if sequence not in own:
                applied.mark(sequence)
        outcome = self._shard.apply(batch, now=now, log_end=until)
        if outcome.incompatible:
            raise outcome.incompatible[0][1]
        self._shard.dead_letters_stored(outcome)
        self._shard.unreached.clear()
        self._postponed = [message for message, _ in outcome.postponed]

    def end(self, *, until: int, now: int) -> None:
        """Carry out what waited for the end of the log, which is event `until`.

        Raises:
            PermanentError: something waits for what the log does not have.
        """
        left = math.inf
        while len(self._postponed) < left:
            left = len(self._postponed)
            self.apply((), until=until, now=now)
        self._shard.sweep(now=now)
        state = self._shard.state
        if self._postponed or state.pending.actions or state.undecided.rows:
            raise PermanentError("messages of the tenant wait for others that the log does not have")


@contextlib.contextmanager
def tenant_log(shard: Shard) -> Iterator[TenantLog]:
    """Inside, events and messages are counted from 1, for a tenant of whom `shard` has nothing."""
    state, fresh = shard.state, ConsolidationState()
    before = {name: getattr(state, name) for name in _POSITIONS}
    for name in _POSITIONS:
        setattr(state, name, getattr(fresh, name))
    try:
        yield TenantLog(shard)
    finally:
        for name, value in before.items():
            setattr(state, name, value)
