"""The search plan of a channel: the words, their vector and the number of memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.profile.intent import Intent
    from helix_query.scheduling.lazy import Lazy
    from helix_shared.artifacts.hits import Hits


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """One search, the same for every channel that runs it."""

    text: str
    """Words searched for: the query, or other words for it."""
    vector: Callable[[], NDArray[np.float32]]
    """Gives the unit vector of `text`, float32 [dimensions]."""
    intents: tuple[Intent, ...]
    """Intents of the query."""
    nearest: Lazy[Hits]
    """The memories nearest to the vector, searched for once however many channels read them."""
    limit: int | None = None
    """Memories asked for; None: what the ranking profile says for the channel."""
