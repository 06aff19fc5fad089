"""Reads requests: checks every limit of `helix_memory.limits` and makes values of the fields.

The only module that reads a request. An error names the field, the limit and, where it helps, the valid
values. Later code does not check again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime, tzinfo
from typing import Any, Final

from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from helix_memory.subjects import is_token
from helix_query.api.time_zones import zone_of
from helix_query.profile.profile import DEFAULT_PROFILE
from helix_query.profile.sections.packing import ExpandContext
from helix_query.recall.query import Query
from helix_shared.artifacts.filter.filters import FILTERS
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.errors import InvalidInputError
from helix_shared.identity import MEMORY_ID_PATTERN

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

_NAME = re.compile(limits.NAME_PATTERN)
_ID_PREFIX: Final = re.compile(rf"[0-9a-f]{{{limits.ID_PREFIX_DIGITS},32}}")
_OWN_SCOPE: Final = "must be left out: the scope of the batch applies"


def query_of(request: recall_pb2.RecallRequest, *, profiles: Collection[str], clock: datetime) -> Query:
    """The query of a recall request.

    `clock` is the server's moment: it decides which memories are valid, and is used where `now` is absent.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    if not request.query.strip():
        raise InvalidInputError("query", "must hold more than white space")
    if len(request.query) > limits.QUERY_CHARACTERS:
        raise InvalidInputError("query", f"must have at most {limits.QUERY_CHARACTERS} characters")
    profile = request.ranking_profile or DEFAULT_PROFILE
    if profile not in profiles:
        raise InvalidInputError("ranking_profile", f"is unknown; known: {', '.join(sorted(profiles))}")
    if request.mode not in MODES:
        raise InvalidInputError("mode", "is unknown; known: 0 to 3")
    if request.expand_context not in EXPAND_CONTEXTS:
        raise InvalidInputError("expand_context", "is unknown; known: 0 to 3")
    now = _moment(request, "now") or _moment(request, "valid_at") or _moment(request, "as_of") or clock
    zone = zone_of(request.time_zone)
    if zone is not None and now.year in (MINYEAR, MAXYEAR):
        raise InvalidInputError("now", "must be a time of the years 2 to 9998 beside a time_zone")
    return Query(
        text=request.query,
        selection=_selection(request),
        profile=profile,
        mode=MODES[request.mode],
        now=now,
        clock=clock,
        zone=zone,
        top_k=_bounded(request, "top_k", limits.TOP_K),
        token_budget=_bounded(request, "token_budget", limits.TOKEN_BUDGET),
        project_id=_name("project_id", request.project_id),
        never_skip=request.never_skip,
        min_sequence=request.min_seq,
        already_served=_memory_ids("already_served", request.already_served, most=limits.ALREADY_SERVED),
        expand_context=EXPAND_CONTEXTS[request.expand_context],
        explain=request.explain,
        include_profile=request.include_profile,
        not_served=request.not_served,
    )


def queries_of(
    batch: recall_pb2.BatchRecallRequest, *, profiles: Collection[str], clock: datetime
) -> list[Query | InvalidInputError]:
    """The query of each request of a batch, or its error; `clock` is the moment of all of them.

    Raises:
        InvalidInputError: the batch is empty or too large.
    """
    if not 1 <= len(batch.requests) <= limits.BATCH_RECALLS:
        count = len(batch.requests)
        raise InvalidInputError("requests", f"must have 1 to {limits.BATCH_RECALLS} entries, not {count}")
    return [_query_or_error(batch.scope, one, profiles=profiles, clock=clock) for one in batch.requests]


def scope_of(
    scope: recall_pb2.Scope,
    moments: recall_pb2.RecallRequest
    | recall_pb2.GetMemoryRequest
    | recall_pb2.GetProfileRequest
    | None = None,
) -> Selection:
    """What a caller may see, without a filter, at the past moments that the request `moments` names.

    Raises:
        InvalidInputError: the tenant is missing, or a field breaks its limit.
    """
    return Selection(
        tenant_id=_tenant(scope.tenant_id),
        user_id=_name("scope.user_id", scope.user_id),
        principals=_names("scope.principals", scope.principals, most=limits.PRINCIPALS),
        as_of=None if moments is None else _moment(moments, "as_of"),
        valid_at=None if moments is None else _moment(moments, "valid_at"),
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
        token_budget=_bounded(request, "token_budget", limits.TOKEN_BUDGET),
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
    return _memory_ids("memory_ids", request.memory_ids, most=limits.TOP_K)


def memory_id_of(memory_id: str) -> str:
    """The id.

    Raises:
        InvalidInputError: it is not a memory id.
    """
    return _memory_ids("memory_id", [memory_id], most=1)[0]


def id_prefix_of(prefix: str) -> str:
    """The beginning of a memory id, in lower case.

    Raises:
        InvalidInputError: it is none, or too short.
    """
    if _ID_PREFIX.fullmatch(prefix.lower()) is None:
        raise InvalidInputError("prefix", f"must be {limits.ID_PREFIX_DIGITS} to 32 hexadecimal digits")
    return prefix.lower()


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


def _selection(request: recall_pb2.RecallRequest) -> Selection:
    scope = scope_of(request.scope, request)
    filters = (kind.requested(_FilterMessage(request.filter)) for kind in FILTERS)
    return replace(scope, filters=tuple(one for one in filters if one is not None))


@dataclass(frozen=True, slots=True)
class _FilterMessage:
    """The filter of a request, as the filter classes read it."""

    message: recall_pb2.Filter

    def names(self, field: str) -> tuple[str, ...]:
        return _names(f"filter.{field}", getattr(self.message, field))

    def moment(self, field: str) -> datetime | None:
        return _moment(self.message, field, prefix="filter.")


def _tenant(tenant_id: str) -> str:
    if not is_token(tenant_id):
        raise InvalidInputError("scope.tenant_id", f"must match {limits.TOKEN_PATTERN}")
    return tenant_id


def _names(field: str, values: Sequence[str], *, most: int = limits.FILTER_VALUES) -> tuple[str, ...]:
    if len(values) > most:
        raise InvalidInputError(field, f"must have at most {most} entries")
    return tuple(dict.fromkeys(_name(field, value) for value in values))


def _memory_ids(field: str, values: Sequence[str], *, most: int) -> tuple[str, ...]:
    if len(values) > most:
        raise InvalidInputError(field, f"must have at most {most} entries")
    if not all(MEMORY_ID_PATTERN.fullmatch(value) for value in values):
        raise InvalidInputError(field, "must be 32 hexadecimal digits in lower case")
    return tuple(dict.fromkeys(values))


def _name(field: str, value: str) -> str:
    if len(value) > limits.NAME_CHARACTERS:
        raise InvalidInputError(field, f"must have at most {limits.NAME_CHARACTERS} characters")
    if _NAME.fullmatch(value) is None:
        raise InvalidInputError(field, "must not hold control characters")
    return value


def _bounded(
    request: recall_pb2.RecallRequest | recall_pb2.GetProfileRequest, field: str, most: int
) -> int | None:
    if not request.HasField(field):  # type: ignore[arg-type]  # the stub wants a literal
        return None
    value: int = getattr(request, field)
    if not 1 <= value <= most:
        raise InvalidInputError(field, f"must be 1 to {most}")
    return value


def _moment(message: Any, field: str, *, prefix: str = "") -> datetime | None:
    if not message.HasField(field):
        return None
    timestamp: Any = getattr(message, field)
    try:
        moment: datetime = timestamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{prefix}{field}", "must be a time of the years 1 to 9999") from error
    return moment
