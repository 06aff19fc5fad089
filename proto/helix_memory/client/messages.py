"""Makes the events and requests of the client, checked before anything is sent.

Limits and errors are those of the services: `helix_memory.events` for events, `helix_memory.recall.checks`
for requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from pydantic import ValidationError

from helix_memory import events, limits
from helix_memory.client import arguments
from helix_memory.client.options import AccessOptions, FilterOptions, MemoryRef, RecallOptions
from helix_memory.client.results import Memory, Written
from helix_memory.errors import InvalidInputError
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.credentials import CallCredentials, NatsCredentials
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_memory.vocabulary.speech_acts import FLAGS

MODES: Final = ("hybrid", "dense", "auto")
EXPANSIONS: Final = ("none", "neighbours", "session")
LAST_SEQUENCE: Final = 2**63 - 1
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_EVENT_NAMES: Final = {"session": "session_id", "user": "user_id", "project": "project_id"}
_FILTER_NAMES: Final = {
    "types": "types",
    "projects": "project_ids",
    "sessions": "session_ids",
    "flags": "flags",
    "exclude_flags": "exclude_flags",
}


def event_of(kind: str, fields: Mapping[str, Any]) -> events.Event:
    """An event of these fields; `wait` is none of them.

    Options have the names of the client (`session`), of which `known_options` lets no other pass. What the
    client sets itself may have the name of the event (`tenant_id`).

    Raises:
        InvalidInputError: a field breaks a rule of the event; it has the name under which it was given.
    """
    named = {_EVENT_NAMES.get(name, name): value for name, value in fields.items() if name != "wait"}
    for name, value in named.items():
        if isinstance(value, tuple | set | frozenset):
            named[name] = list(value)
    try:
        return events.EVENT_ADAPTER.validate_python({"event_id": uuid4().hex, **named, "kind": kind})
    except ValidationError as error:
        broken, _, reason = events.explain(error).partition(": ")
        given = {_EVENT_NAMES.get(name, name): name for name in fields}
        # pydantic's error quotes the input, which would be in every log of this one
        raise InvalidInputError(given.get(broken, broken), reason) from None


def id_of(memory: MemoryRef, field: str = "memory_id") -> str:
    """The id of a memory, which stands in `field`.

    Raises:
        InvalidInputError: it is none, or the event made no memory.
    """
    given: object = memory.id if isinstance(memory, Memory) else memory
    if isinstance(memory, Written):
        given = memory.memory_id
        if not given:
            raise InvalidInputError(field, "is of an event that made no memory")
    if not isinstance(given, str):
        reason = f"must be an id, a memory or what a write returned, not {type(given).__name__}"
        raise InvalidInputError(field, reason)
    return checks.memory_ids(field, [given], most=1)[0]


def ids_of(field: str, memories: object) -> list[str]:
    """The ids of several memories.

    Raises:
        InvalidInputError: it is one alone, or as `id_of`.
    """
    return [id_of(one, field) for one in arguments.several(field, memories)]


def scope_of(tenant: str, user: str, principals: Iterable[str]) -> recall_pb2.Scope:
    """The caller.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    try:
        token = checks.tenant(tenant)
    except InvalidInputError as error:
        raise InvalidInputError("tenant", error.reason) from error
    return recall_pb2.Scope(
        tenant_id=token,
        user_id=checks.name("user", user),
        principals=checks.names(
            "principals", arguments.several("principals", principals), most=limits.PRINCIPALS
        ),
    )


def host_of(host: str) -> str:
    """The name or address of a machine, in the form that an URL takes.

    Raises:
        InvalidInputError: it has a scheme, a port or a path.
    """
    if isinstance(host, str) and _HOST.fullmatch(host):
        return host
    reason = "must be a name or an address alone, like 127.0.0.1 or [::1]; ports are nats_port and query_port"
    raise InvalidInputError("host", f"{reason}, whole addresses nats_url and query_address")


def credentials_of(access: AccessOptions) -> tuple[CallCredentials, NatsCredentials]:
    """Credentials of calls and of NATS; files are read when they are used.

    Raises:
        InvalidInputError: an option is unknown, or a token is given twice.
    """
    arguments.known_options(access, AccessOptions)
    if access.get("token") and access.get("token_file"):
        raise InvalidInputError("token", "excludes token_file")
    files: dict[str, Path] = {
        name: arguments.file(name, value)
        for name, value in access.items()
        if name not in ("token", "tls") and value not in (None, "")
    }
    nats_file = files.pop("nats_credentials", None)
    calls = CallCredentials(
        token=checks.text("token", access.get("token") or ""),
        tls=arguments.switch("tls", access.get("tls", False)),
        **files,
    )
    return calls, NatsCredentials(nats_file, files.get("ca_file") if nats_file else None)


def sequence_of(after: Written | Iterable[Written] | None) -> int:
    """The sequence to wait for; 0: none.

    Raises:
        InvalidInputError: it is not what writes returned.
    """
    given = () if after is None else (after,) if isinstance(after, Written) else after
    several = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(one, Written) for one in several):
        raise InvalidInputError("after", "must be what a write returned, or several of these")
    latest = max((one.sequence for one in several), default=0)
    if not 0 <= latest <= LAST_SEQUENCE:
        raise InvalidInputError("after", f"its sequence must be at most {LAST_SEQUENCE}")
    return latest


def recall_request(
    scope: recall_pb2.Scope, query: str, options: RecallOptions, *, project: str, time_zone: str
) -> recall_pb2.RecallRequest:
    """The request of a recall.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    arguments.known_options(options, RecallOptions)
    mode = arguments.one_of("mode", options.get("mode", "hybrid"), MODES)
    request = recall_pb2.RecallRequest(
        scope=scope,
        query=checks.query_text(query),
        filter=filter_of(options),
        project_id=checks.name("prefer_project", options.get("prefer_project", project)),
        time_zone=time_zone,
        min_seq=sequence_of(options.get("after")),
        already_served=checks.memory_ids(
            "already_served",
            ids_of("already_served", options.get("already_served", ())),
            most=limits.ALREADY_SERVED,
        ),
        mode=recall_pb2.Mode.Value(f"MODE_{mode.upper()}"),
        ranking_profile=checks.text("ranking_profile", options.get("ranking_profile", "")),
        include_profile=arguments.switch("include_profile", options.get("include_profile", False)),
        never_skip=arguments.switch("never_skip", options.get("never_skip", False)),
        not_served=arguments.switch("not_served", options.get("not_served", False)),
        as_of=arguments.moment("as_of", options.get("as_of")),
        valid_at=arguments.moment("valid_at", options.get("valid_at")),
    )
    if "top_k" in options:
        request.top_k = checks.bounded("top_k", options["top_k"], limits.TOP_K)
    if "token_budget" in options:
        request.token_budget = checks.bounded("token_budget", options["token_budget"], limits.TOKEN_BUDGET)
    if "expand_context" in options:
        around = arguments.one_of("expand_context", options["expand_context"], EXPANSIONS)
        request.expand_context = recall_pb2.ExpandContext.Value(f"EXPAND_CONTEXT_{around.upper()}")
    return request


def filter_of(options: FilterOptions) -> recall_pb2.Filter:
    """The filter of these options.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    named: dict[str, Any] = {
        field: checks.names(name, arguments.several(name, options.get(name, ())))
        for name, field in _FILTER_NAMES.items()
    }
    checks.known("types", named["types"], "type", MEMORY_TYPES)
    for field in ("flags", "exclude_flags"):
        checks.known(field, named[field], "flag", FLAGS)
    after, before = arguments.span(options, "event_after", "event_before")
    return recall_pb2.Filter(**named, event_after=after, event_before=before)
