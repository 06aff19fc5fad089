"""One batch of messages: which are folded, and which are postponed, blocked or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.fold import finish, fold
from helix_consolidation.folding.incoming.actions import action_of
from helix_consolidation.folding.incoming.decode import (
    Derived,
    Lifecycle,
    completed_event,
    decode,
    header_order,
)
from helix_consolidation.folding.lifecycle import read_ahead
from helix_consolidation.stores.made_with import stated_version
from helix_consolidation.stores.outcome import Outcome
from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM
from helix_shared.broker.settlement import ATTEMPTS
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError
from helix_shared.shard_map import ONLY_SHARD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nats.aio.msg import Msg

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.folding.incoming.decode import Item
    from helix_shared.shard_map import ShardPlace


def fold_batch(
    context: FoldContext, messages: Sequence[Msg], *, log_end: int, place: ShardPlace = ONLY_SHARD
) -> Outcome:
    """Decode and fold the messages of a shard in the order of events; what changed is in the context.

    `log_end` is the last sequence of HELIX_EVENTS: a message that claims a later event is refused.
    """
    batch = _Batch(context, log_end)
    own = [is_own(place, message) for message in messages]
    batch.count_foreign([message for message, is_one in zip(messages, own, strict=True) if not is_one])
    batch.fold([message for message, is_one in zip(messages, own, strict=True) if is_one])
    return batch.outcome


def is_own(place: ShardPlace, message: Msg) -> bool:
    """Whether a shard folds a message: of its tenants all but the events that it got by a move."""
    position = message.metadata
    if position.stream == EVENTS_STREAM and place.has_by_move(message.subject, position.sequence.stream):
        return False
    return place.owns_subject(message.subject)


class _Batch:
    def __init__(self, context: FoldContext, log_end: int) -> None:
        self.outcome: Final = Outcome()
        self._context = context
        self._state = context.state
        self._log_end = log_end

    def count_foreign(self, messages: Sequence[Msg]) -> None:
        """Count messages of other shards as processed; the writer of their shard applies them."""
        for message in messages:
            self._mark(message)
        self.outcome.foreign += messages

    def fold(self, messages: Sequence[Msg]) -> None:
        decoded: list[tuple[Item, Msg]] = []
        for message in messages:
            try:
                decoded.append((decode(message, log_end=self._log_end), message))
            except IncompatibleError as error:
                self._block(message, error)
            except PermanentError as error:
                self._refuse(message, error)
        read_ahead(self._context, [action_of(item) for item, _ in decoded if isinstance(item, Lifecycle)])
        for item, message in sorted(decoded, key=lambda pair: pair[0].order):
            self._fold_one(item, message)
        incompatible, self.outcome.incompatible = self.outcome.incompatible, []
        for message, reason in incompatible:
            # another message of this batch may have completed its event
            self._block(message, reason)
        finish(self._context)

    def _fold_one(self, item: Item, message: Msg) -> None:
        if isinstance(item, Derived) and any(
            item.order[:2] > header_order(earlier) for earlier, _ in self.outcome.incompatible
        ):
            self.outcome.blocked.append(message)
            return
        try:
            fold(self._context, item)
            if isinstance(item, Derived):
                edge, version = stated_version(message)
                self._state.made_with.setdefault(edge, set()).add(version)
            self.outcome.done.append(message)
        except IncompatibleError as error:
            self._block(message, error)
        except TemporaryError as error:
            if self._is_out_of_order(item) or message.metadata.num_delivered < ATTEMPTS:
                self.outcome.postponed.append((message, error))
                if isinstance(item, Derived):
                    self._state.postponed[item.sequence] = item.origin.event_sequence
            else:
                self._refuse(message, PermanentError(str(error)))
        except PermanentError as error:
            self._refuse(message, error)

    def _refuse(self, message: Msg, error: PermanentError) -> None:
        """Dead-letter a message; its event counts as processed, because it will change nothing later."""
        self._mark(message)
        if message.metadata.stream == DERIVED_STREAM:
            self._state.unstored_dead_letters.add(message.metadata.sequence.stream)
        self.outcome.dead.append((message, error))

    def _is_out_of_order(self, item: Item) -> bool:
        """Whether something before it is not processed: then it waits without a limit of attempts."""
        event = item.order[0]
        if not isinstance(item, Derived):
            return self._state.is_out_of_order(event=event, derived=0)
        return self._state.is_out_of_order(event=event, derived=item.sequence, edge=item.origin.edge)

    def _block(self, message: Msg, error: IncompatibleError) -> None:
        """Apply nothing that comes after this message, unless its event is processed already."""
        sequence = completed_event(message)
        if sequence is not None and sequence in self._state.applied:
            self._mark_derived(message)
            self.outcome.done.append(message)
        else:
            self.outcome.incompatible.append((message, error))

    def _mark(self, message: Msg) -> None:
        sequence = completed_event(message)
        if sequence is not None and sequence <= self._log_end:
            self._state.applied.mark(sequence)
        self._mark_derived(message)

    def _mark_derived(self, message: Msg) -> None:
        position = message.metadata
        if position.stream == DERIVED_STREAM:
            self._state.derived.mark(position.sequence.stream)
            self._state.unstored_dead_letters.discard(position.sequence.stream)
