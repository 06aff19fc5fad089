"""The searches for candidates: one file and one entry of `CHANNELS` a channel; start with `dense`.

A channel reads its `RecallContext` and `SearchPlan` and imports no stage. Executor lanes follow from this
list. Bit, limit and weight follow from the name in `profile.sections.section.Channel`, so that a profile,
which imports nothing of recall, refuses a name that is no channel; a test holds the two lists equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from helix_query.recall.channels.associative import AssociativeChannel
from helix_query.recall.channels.dense import DenseChannel
from helix_query.recall.channels.entity import EntityChannel
from helix_query.recall.channels.lexical import LexicalChannel

if TYPE_CHECKING:
    from helix_query.profile.sections.section import Channel as Name
    from helix_query.recall.channels.plan import SearchPlan
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.hits import Hits


class Channel(Protocol):
    """A search for candidates."""

    @property
    def name(self) -> Name:
        """Name of the channel in profiles and answers."""

    def search(self, context: RecallContext, plan: SearchPlan) -> Hits:
        """Visible memories found for `plan`, best first; those already served come on top of its limit."""


CHANNELS: Final[tuple[Channel, ...]] = (
    DenseChannel(),
    LexicalChannel(),
    EntityChannel(),
    AssociativeChannel(),
)
TIES_IN_LOG_ORDER: Final = ("dense", "lexical")
"""Channels whose equal scores go by the log; the others have an order of their own for them."""
CALLER_LANE: Final = "caller"
"""Lane of the searches among what the caller said about themself, which are no channels."""
LANES: Final[tuple[str, ...]] = (*(channel.name for channel in CHANNELS), CALLER_LANE)
"""Each channel has an executor of its own, so that a stuck one keeps no other waiting."""
