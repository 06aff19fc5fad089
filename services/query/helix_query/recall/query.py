"""What is asked of a recall, and what comes back: the values at its two ends.

`request` makes questions, `reply` turns answers into protobuf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helix_query.recall.candidates import ExpandContext, Packed, Route

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from helix_query.diagnostics.explain import Explanation
    from helix_query.recall.stages.abstain import RelevanceEstimate
    from helix_shared.artifacts.filter.selection import Selection


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, by whom, when; checked already."""

    query: str
    selection: Selection
    now: datetime
    """The caller's moment, for phrases and recency."""
    clock: datetime
    """The server's moment: whether a memory is valid and not expired, unless the selection has `as_of`."""
    zone: tzinfo | None = None
    """Where the days of the question begin; None: UTC."""
    profile: str = "helix"
    mode: str = "hybrid"
    """hybrid, dense or auto."""
    top_k: int | None = None
    token_budget: int | None = None
    project_id: str = ""
    never_skip: bool = False
    min_sequence: int = 0
    """Sequence of HELIX_EVENTS the answering generation should hold; 0: any."""
    already_served: tuple[str, ...] = ()
    """Ids of memories the caller has."""
    expand_context: ExpandContext | None = None
    """What may stand around the packed; None: what the ranking profile says."""
    explain: bool = False
    """Whether the answer tells how it came about."""


@dataclass(frozen=True, slots=True)
class RecalledRow:
    """One memory of an answer."""

    row: Mapping[str, Any]
    entities: tuple[str, ...]
    score: float
    cosine: float
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecallResult:
    """An answer, best first."""

    route: Route
    seconds: tuple[tuple[str, float], ...]
    rows: tuple[RecalledRow, ...] = ()
    packed: Packed = Packed()  # noqa: RUF009 - frozen, so one empty value serves all
    degraded: tuple[str, ...] = ()
    """Channels that failed or came too late, and `pagerank` where the bounded walk stood in for it."""
    already_served: int = 0
    """How many of the question's `already_served` would stand among the rows."""
    explanation: Explanation | None = None
    """How it came about, if that was asked."""
    belief: RelevanceEstimate | None = None
    """How likely the rows answer, in their order; None: the profile has no model, or a channel is missing."""
