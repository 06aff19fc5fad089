"""Makes the events and requests of the client, checked before anything is sent.

Limits and errors are those of the services: `helix_memory.events` for events, `helix_memory.recall.checks`
for requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from pydantic import ValidationError

from helix_memory import events, limits
from helix_memory.client.options import FilterOptions, MemoryRef, RecallOptions
from helix_memory.client.results import Memory, Written
from helix_memory.errors import InvalidInputError
from helix_memory.memory_types import MEMORY_TYPES
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_memory.speech_acts import FLAGS

MODES: Final = ("hybrid", "dense", "auto")
EXPANSIONS: Final = ("none", "neighbours", "session")
_EVENT_NAMES: Final = {"session": "session_id", "user": "user_id", "project": "project_id"}
_FILTER_NAMES: Final = {"types": "types", "projects": "project_ids", "sessions": "session_ids"}


def event_of(kind: str, fields: Mapping[str, Any]) -> events.Event:
    """An event of these fields, under the names of the client or of the event; `wait` is none of them.

    Raises:
        InvalidInputError: a field breaks a rule of the event.
    """
    named = {_EVENT_NAMES.get(name, name): value for name, value in fields.items() if name != "wait"}
    for name, value in named.items():
        if isinstance(value, tuple | set | frozenset):
            named[name] = list(value)
    try:
        return events.EVENT_ADAPTER.validate_python({"event_id": uuid4().hex, **named, "kind": kind})
    except ValidationError as error:
        field, _, reason = events.explain(error).partition(": ")
        raise InvalidInputError(field, reason) from error


def id_of(memory: MemoryRef) -> str:
    """The id of a memory.

    Raises:
        InvalidInputError: it is none, or the event made no memory.
    """
    if isinstance(memory, Written):
        return checks.memory_id(memory.memory_id)
    return checks.memory_id(memory.id if isinstance(memory, Memory) else memory)


def scope_of(tenant: str, user: str, principals: Iterable[str]) -> recall_pb2.Scope:
    """The caller.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    return recall_pb2.Scope(
        tenant_id=checks.tenant(tenant),
        user_id=checks.name("scope.user_id", user),
        principals=checks.names("scope.principals", tuple(principals), most=limits.PRINCIPALS),
    )


def sequence_of(after: Written | Iterable[Written] | None) -> int:
    """The sequence to wait for; 0: none."""
    if isinstance(after, Written):
        return after.sequence
    return max((one.sequence for one in after or ()), default=0)


def recall_request(
    scope: recall_pb2.Scope, query: str, options: RecallOptions, *, project: str, time_zone: str
) -> recall_pb2.RecallRequest:
    """The request of a recall.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    request = recall_pb2.RecallRequest(
        scope=scope,
        query=_encodable("query", checks.query_text(query)),
        filter=filter_of(options),
        project_id=checks.name("project_id", options.get("prefer_project", project)),
        time_zone=time_zone,
        min_seq=sequence_of(options.get("after")),
        already_served=checks.memory_ids(
            "already_served",
            [id_of(one) for one in options.get("already_served", ())],
            most=limits.ALREADY_SERVED,
        ),
        mode=recall_pb2.Mode.Value(f"MODE_{_one_of('mode', options.get('mode', 'hybrid'), MODES).upper()}"),
        ranking_profile=options.get("ranking_profile", ""),
        include_profile=options.get("include_profile", False),
        never_skip=options.get("never_skip", False),
        as_of=moment("as_of", options.get("as_of")),
        valid_at=moment("valid_at", options.get("valid_at")),
    )
    if "top_k" in options:
        request.top_k = checks.bounded("top_k", options["top_k"], limits.TOP_K)
    if "token_budget" in options:
        request.token_budget = checks.bounded("token_budget", options["token_budget"], limits.TOKEN_BUDGET)
    if "expand_context" in options:
        around = _one_of("expand_context", options["expand_context"], EXPANSIONS)
        request.expand_context = recall_pb2.ExpandContext.Value(f"EXPAND_CONTEXT_{around.upper()}")
    return request


def filter_of(options: FilterOptions) -> recall_pb2.Filter:
    """The filter of these options.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    named: dict[str, Any] = {
        field: checks.names(f"filter.{field}", tuple(options.get(name, ())))  # type: ignore[arg-type]
        for name, field in _FILTER_NAMES.items()
    }
    flags = tuple(options.get("exclude_flags", ()))
    checks.known("filter.types", named["types"], "type", MEMORY_TYPES)
    checks.known("filter.exclude_flags", flags, "flag", FLAGS)
    after, before = (
        moment(f"filter.{name}", options.get(name))  # type: ignore[arg-type]
        for name in ("event_after", "event_before")
    )
    if after is not None and before is not None and after >= before:
        raise InvalidInputError("filter.event_after", "must be earlier than filter.event_before")
    return recall_pb2.Filter(**named, exclude_flags=flags, event_after=after, event_before=before)


def moment(field: str, value: datetime | None) -> datetime | None:
    """A moment with its zone; None stays None.

    Raises:
        InvalidInputError: it has no zone.
    """
    if value is not None and value.utcoffset() is None:
        raise InvalidInputError(field, "must carry a time zone")
    return value


def _one_of(field: str, value: str, valid: tuple[str, ...]) -> str:
    if value not in valid:
        raise InvalidInputError(field, f"is unknown; known: {', '.join(valid)}")
    return value


def _encodable(field: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(field, "must be text without lone surrogates") from error
    return text
