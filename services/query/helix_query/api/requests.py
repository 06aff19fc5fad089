"""Reads requests: checks every limit of `helix_memory.limits` and makes values of the fields.

Scope, filters and options of every call are read here, the other fields of lists and of neighbours by their
calls; `helix_memory.recall.checks` has the limits of single fields, which the client checks as well. An error
names the field, the limit and, where it helps, the valid values. Later code does not check again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, datetime, tzinfo
from typing import Final

from helix_memory import limits
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.time_zones import zone_of
from helix_query.profile.profile import DEFAULT_PROFILE
from helix_query.profile.sections.packing import ExpandContext
from helix_query.recall.query import Query
from helix_shared.artifacts.filter.filters import FILTERS
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.errors import InvalidInputError

MODES: Final = {
    recall_pb2.MODE_UNSPECIFIED: "hybrid",
    recall_pb2.MODE_DENSE: "dense",
    recall_pb2.MODE_HYBRID: "hybrid",
    recall_pb2.MODE_AUTO: "auto",
}

EXPAND_CONTEXTS: Final[Mapping[int, ExpandContext | None]] = {
    recall_pb2.EXPAND_CONTEXT_UNSPECIFIED: None,
    recall_pb2.EXPAND_CONTEXT_NONE: "none",
    recall_pb2.EXPAND_CONTEXT_NEIGHBOURS: "neighbours",
    recall_pb2.EXPAND_CONTEXT_SESSION: "session",
}

_OWN_SCOPE: Final = "must be left out: the scope of the batch applies"


def query_of(request: recall_pb2.RecallRequest, *, profiles: Collection[str], clock: datetime) -> Query:
    """The query of a recall request.

    `clock` is the server's moment: it decides which memories are valid, and is used where `now` is absent.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    checks.query_text(request.query)
    profile = request.ranking_profile or DEFAULT_PROFILE
    if profile not in profiles:
        raise InvalidInputError("ranking_profile", f"is unknown; known: {', '.join(sorted(profiles))}")
    if request.mode not in MODES:
        raise InvalidInputError("mode", "is unknown; known: 0 to 3")
    if request.expand_context not in EXPAND_CONTEXTS:
        raise InvalidInputError("expand_context", "is unknown; known: 0 to 3")
    now = (
        checks.optional_moment(request, "now")
        or checks.optional_moment(request, "valid_at")
        or checks.optional_moment(request, "as_of")
        or clock
    )
    zone = zone_of(request.time_zone)
    if zone is not None and now.year in (MINYEAR, MAXYEAR):
        raise InvalidInputError("now", "must be a time of the years 2 to 9998 beside a time_zone")
    return Query(
        text=request.query,
        selection=selection_of(request),
        profile=profile,
        mode=MODES[request.mode],
        now=now,
        clock=clock,
        zone=zone,
        top_k=checks.optional_number(request, "top_k", limits.TOP_K),
        token_budget=checks.optional_number(request, "token_budget", limits.TOKEN_BUDGET),
        project_id=checks.name("project_id", request.project_id),
        never_skip=request.never_skip,
        min_sequence=request.min_seq,
        already_served=checks.memory_ids(
            "already_served", request.already_served, most=limits.ALREADY_SERVED
        ),
        expand_context=EXPAND_CONTEXTS[request.expand_context],
        explain=request.explain,
        explained_candidates=checks.optional_number(
            request, "explained_candidates", limits.EXPLAINED_CANDIDATES
        ),
        include_profile=request.include_profile,
        not_served=request.not_served,
    )


def queries_of(
    batch: recall_pb2.BatchRecallRequest, *, profiles: Collection[str], clock: datetime, most: int
) -> list[Query | InvalidInputError]:
    """The query of each request of a batch of at most `most`, or its error; `clock` is the moment of all.

    Raises:
        InvalidInputError: the batch is empty or too large.
    """
    if not 1 <= len(batch.requests) <= most:
        less = " here (HELIX_QUERY_IN_FLIGHT, HELIX_QUERY_TENANT_IN_FLIGHT)"
        where = less if most < limits.BATCH_RECALLS else ""
        count = len(batch.requests)
        raise InvalidInputError("requests", f"must have 1 to {most} entries{where}, not {count}")
    return [_query_or_error(batch.scope, one, profiles=profiles, clock=clock) for one in batch.requests]


def scope_of(
    scope: recall_pb2.Scope,
    moments: recall_pb2.RecallRequest
    | recall_pb2.GetMemoryRequest
    | recall_pb2.GetProfileRequest
    | recall_pb2.ListMemoriesRequest
    | recall_pb2.TimelineRequest
    | None = None,
) -> Selection:
    """What a caller may see, without a filter, at the past moments that the request `moments` names.

    Raises:
        InvalidInputError: the tenant is missing, or a field breaks its limit.
    """
    return Selection(
        tenant_id=checks.tenant(scope.tenant_id),
        user_id=checks.name("scope.user_id", scope.user_id),
        principals=checks.names("scope.principals", scope.principals, most=limits.PRINCIPALS),
        as_of=None if moments is None else checks.optional_moment(moments, "as_of"),
        valid_at=None if moments is None else checks.optional_moment(moments, "valid_at"),
    )


@dataclass(frozen=True, slots=True)
class ProfileQuery:
    """Whose profile is asked for, and how it is to be written."""

    selection: Selection
    token_budget: int | None
    """None: what the default ranking profile says."""
    zone: tzinfo | None
    min_sequence: int


def profile_query_of(request: recall_pb2.GetProfileRequest) -> ProfileQuery:
    """What a profile request asks for.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    return ProfileQuery(
        selection=scope_of(request.scope, request),
        token_budget=checks.optional_number(request, "token_budget", limits.TOKEN_BUDGET),
        zone=zone_of(request.time_zone),
        min_sequence=request.min_seq,
    )


def packed_ids_of(request: recall_pb2.PackRequest) -> tuple[str, ...]:
    """The memories to pack, each once.

    Raises:
        InvalidInputError: there are none or too many, or one is no memory id.
    """
    if not request.memory_ids:
        raise InvalidInputError("memory_ids", f"must have 1 to {limits.TOP_K} entries")
    return checks.memory_ids("memory_ids", request.memory_ids, most=limits.TOP_K)


def _query_or_error(
    scope: recall_pb2.Scope, request: recall_pb2.RecallRequest, *, profiles: Collection[str], clock: datetime
) -> Query | InvalidInputError:
    if request.HasField("scope"):
        return InvalidInputError("scope", _OWN_SCOPE)
    request.scope.CopyFrom(scope)
    try:
        return query_of(request, profiles=profiles, clock=clock)
    except InvalidInputError as error:
        return error


def selection_of(request: recall_pb2.RecallRequest | recall_pb2.ListMemoriesRequest) -> Selection:
    """What a caller may see and asks for.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    scope = scope_of(request.scope, request)
    filters = (kind.requested(_FilterMessage(request.filter)) for kind in FILTERS)
    return replace(scope, filters=tuple(one for one in filters if one is not None))


@dataclass(frozen=True, slots=True)
class _FilterMessage:
    """The filter of a request, as the filter classes read it."""

    message: recall_pb2.Filter

    def names(self, field: str) -> tuple[str, ...]:
        return checks.names(f"filter.{field}", getattr(self.message, field))

    def moment(self, field: str) -> datetime | None:
        return checks.optional_moment(self.message, field, prefix="filter.")
