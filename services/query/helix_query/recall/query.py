"""The query of a recall; `api.requests` builds it and checks every field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from helix_query.profile.sections.packing import ExpandContext
    from helix_shared.artifacts.filter.selection import Selection


@dataclass(frozen=True, slots=True)
class Query:
    """The text of a query, who asks it, when, and how it is to be answered."""

    text: str
    selection: Selection
    now: datetime
    """The caller's moment, for phrases such as "last week" and for recency."""
    clock: datetime
    """The server's moment: whether a memory is valid and not expired, unless the selection has `as_of`."""
    zone: tzinfo | None = None
    """Time zone in which days begin; None: UTC."""
    profile: str = "helix"
    mode: str = "hybrid"
    """hybrid, dense or auto."""
    top_k: int | None = None
    """Memories wanted; None: what the ranking profile says."""
    token_budget: int | None = None
    """Tokens of the packed context; None: as above."""
    project_id: str = ""
    never_skip: bool = False
    min_sequence: int = 0
    """Sequence of HELIX_EVENTS that the answering generation should hold; 0: any."""
    already_served: tuple[str, ...] = ()
    """Ids of memories the caller has."""
    expand_context: ExpandContext | None = None
    """What may be packed around a memory; None: what the ranking profile says."""
    include_profile: bool = False
    """Whether the caller's profile is packed before the memories."""
    not_served: bool = False
    """Whether the answer does not count as an access."""
    explain: bool = False
    """Whether the result keeps a trace, from which `diagnostics.explain` makes an explanation."""
    explained_candidates: int | None = None
    """Candidates in the explanation at most, the best first; None: all."""
