"""What travels between the eight stages: frozen values, with arrays inside where the pool is large.

`recall` passes them on, the files in `stages` make them. Nothing here knows an engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from numpy.typing import NDArray

    from helix_query.profile.intent import Intent
    from helix_shared.artifacts.hits import Hits

ExpandContext = Literal["none", "neighbours", "session"]
"""What may be packed around a memory."""

DENSE: Final = "dense"
LEXICAL: Final = "lexical"
GRAPH: Final = "graph"
ENTITY: Final = "entity"
ASSOCIATIVE: Final = "associative"
CHANNELS: Final = (DENSE, LEXICAL, GRAPH, ENTITY, ASSOCIATIVE)
"""Bit n of `Candidates.found_by` is channel n. Add at the end only."""
SEARCHED: Final = (DENSE, LEXICAL, ENTITY, ASSOCIATIVE)
"""Channels of stage 3; each has a lane of its own."""


GraphMethod = Literal["pagerank", "walk"]
"""How the graph around the pool is walked."""
PAGERANK: Final = "pagerank"
WALK: Final = "walk"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time in UTC: `start` inclusive, `end` exclusive."""

    start: datetime
    end: datetime
    zone: tzinfo = UTC
    """Whose calendar tells the days in it."""


@dataclass(frozen=True, slots=True)
class Route:
    """What stage 2 made of a query."""

    skip: bool = False
    intents: tuple[Intent, ...] = ()
    window: Window | None = None
    as_of_moment: datetime | None = None
    """The latest moment the question asks about, never after it is asked; None: it names no past time."""
    reason: str = ""


COVERING: Final = "all words"
"""Stands for the query of the list of memories whose text holds most of the words; it is never fused."""

QUOTED: Final = "word for word"
"""Stands for the query of the list of memories that hold its very words; it is never fused."""
APART: Final = frozenset([COVERING, QUOTED])
"""Lists whose scores are not fused; one that is missing is named by itself, not by its channel."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one channel found, best first."""

    channel: str
    hits: Hits
    query: str = ""
    """The other words it was asked with; empty: the question itself."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What stage 3 found, and the channels that are missing from it."""

    rankings: tuple[Ranking, ...]
    degraded: tuple[str, ...] = ()
    lexical_alone: bool = False
    """The dense channel was not asked: mode auto had a clear lexical match, or the profile says so."""

    def of(self, channel: str) -> Hits | None:
        """What a channel found for the question itself; None: it is missing, or was not asked."""
        return next((one.hits for one in self.rankings if one.channel == channel and not one.query), None)


@dataclass(frozen=True, slots=True)
class FusionInput:
    """What one list gives to the fused scores; arrays run parallel to its hits.

    rrf: `weight` / (k + rank) + `bonuses`. minmax: `weight` x `normal`, the weights scaled to sum 1.
    """

    hits: Hits
    weight: float
    scores: NDArray[np.float64]
    least: float = 0.0
    span: float = 0.0
    """minmax: most minus least score, 0 where all are equal."""
    normal: NDArray[np.float64] | None = None
    bonuses: NDArray[np.float64] | None = None
    ranking: Ranking | None = None
    """The list as it was fused, where channel and words are known."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates of stages 4 to 7: arrays of equal length, one entry a candidate, no ordinal twice."""

    ordinals: NDArray[np.int64]
    fused: NDArray[np.float64]
    """Score of the fusion, best first out of stage 4."""
    cosine: NDArray[np.float64]
    """Exact cosine of query and memory."""
    mass: NDArray[np.float64]
    """What the walk of the graph left; zero before stage 5."""
    found_by: NDArray[np.uint8]
    """Bit set over `CHANNELS`."""
    coverage: NDArray[np.float64] | None = None
    """Share of the question's words, by rarity, that the text holds; None: nobody asked."""
    quoted: NDArray[np.bool_] | None = None
    """Who holds the question word for word; None: nobody does, or nobody asked."""
    given: tuple[FusionInput, ...] = ()
    """What each list gave to `fused`; known right after stage 4, for an explanation."""
    walked: GraphMethod | None = None
    """How stage 5 walked the graph; None: it did not."""
    degraded: tuple[str, ...] = ()
    """`PAGERANK` where the graph was too dense for it and the bounded walk stood in."""

    def __len__(self) -> int:
        return len(self.ordinals)

    def channels_of(self, position: int) -> tuple[str, ...]:
        """Names of the channels that found the candidate at `position`."""
        bits = int(self.found_by[position])
        return tuple(name for bit, name in enumerate(CHANNELS) if bits >> bit & 1)


@dataclass(frozen=True, slots=True)
class CandidateSignals:
    """Signals of the candidates of a pool, raw, one entry a candidate; stage 6 normalises them.

    Times are microseconds since 1970 UTC; `NO_TIME` where there is none.
    """

    type_code: NDArray[np.uint8]
    touched_at: NDArray[np.int64]
    """Last access, or creation where there was none."""
    occurred_at: NDArray[np.int64]
    event_start: NDArray[np.int64]
    event_end: NDArray[np.int64]
    salience: NDArray[np.float64]
    confidence: NDArray[np.float64]
    priority: NDArray[np.float64]
    pinned: NDArray[np.bool_]
    project_code: NDArray[np.int64]
    session_code: NDArray[np.int64]
    access_count: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Positions in a pool, best first, with their final scores."""

    positions: NDArray[np.int64]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.positions)

    def first(self, count: int) -> Ranked:
        """The `count` best."""
        return Ranked(self.positions[:count], self.scores[:count])


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory as it stands in the packed context, without its citation number."""

    memory_id: str
    heading: str
    text: str
    tokens: int
    """Tokens of the text alone, counted when it was written."""


@dataclass(frozen=True, slots=True)
class Around:
    """What may be packed around one memory, in reading order; nothing recalled is in here.

    `before` and `after` are the whole rest of its session if that may be packed, else empty;
    `previous` and `following` are right beside it.
    """

    memory_id: str
    previous: Entry | None = None
    following: Entry | None = None
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """The context for a prompt; citation [n] is `memory_ids[n - 1]`."""

    text: str = ""
    memory_ids: tuple[str, ...] = ()
    tokens: int = 0
    surrounding_ids: tuple[str, ...] = ()
    """What stands around them, in the order of the text."""
