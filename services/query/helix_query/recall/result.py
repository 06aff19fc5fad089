"""The result of a recall; `api.responses` turns it into protobuf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates, Ranked, Retrieved, Route
    from helix_query.recall.user_profile.lines import UserProfile

NO_REASON: Final = ""


@dataclass(frozen=True, slots=True)
class RecalledRow:
    """One memory of an answer."""

    row: Mapping[str, Any]
    entities: tuple[str, ...]
    score: float
    cosine: float
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """The context for a prompt; citation [n] is `memory_ids[n - 1]`."""

    text: str = ""
    memory_ids: tuple[str, ...] = ()
    tokens: int = 0
    surrounding_ids: tuple[str, ...] = ()
    """Memories packed around them, in the order of the text."""
    quoted_ids: tuple[str, ...] = ()
    """Questions left out, since statements that are packed quote them."""


@dataclass(frozen=True, slots=True)
class Features:
    """What the relevance models read, by name: of each memory of an answer, and of the answer."""

    memories: Mapping[str, NDArray[np.float64]]
    answer: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RelevanceEstimate:
    """Probabilities, 0 to 1: that each memory is relevant, and that at least one of them is.

    None where the ranking profile has no model for it.
    """

    features: Features
    memories: NDArray[np.float64] | None
    answer: float | None
    abstained: bool = False
    reason: str = NO_REASON
    """Why nothing is packed."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The values that the stages of one recall returned."""

    route: Route
    retrieved: Retrieved
    fused: Candidates
    candidates: Candidates
    """The candidates with those that the graph added; positions below refer to these."""
    ranked: Ranked
    diverse: Ranked
    """The diverse candidates, with memories that the caller has already."""
    chosen: Ranked
    rows: tuple[RecalledRow, ...] = ()
    packed: Packed = Packed()
    abstained: bool = False
    """Nothing was packed, since the answer is too unlikely to be relevant."""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """An answer, best first."""

    route: Route
    seconds: tuple[tuple[str, float], ...]
    """Stages and their seconds, in the order they ran."""
    rows: tuple[RecalledRow, ...] = ()
    packed: Packed = Packed()
    degraded: tuple[str, ...] = ()
    """Searches that failed or came too late, and `pagerank` if the bounded walk replaced it."""
    already_served: int = 0
    """How many of the query's `already_served` would be among the rows."""
    estimate: RelevanceEstimate | None = None
    """How likely the rows answer, in their order; None: the profile has no model, or a channel is missing."""
    profile: UserProfile | None = None
    """The caller's profile as it is packed; None: not asked for."""
    trace: Trace | None = None
    """Kept only where the query asks for an explanation; None also for a skipped query."""
