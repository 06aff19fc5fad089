"""Names of streams, subjects and headers; no other module spells them.

| stream | subject | header |
|---|---|---|
| HELIX_EVENTS | `helix.v1.events.<tenant>.<session>.<kind>` | `Nats-Msg-Id: <tenant>:<event_id>[:<seal>]` |
| HELIX_DERIVED | `helix.v1.derived.<edge>.<tenant>` | `Nats-Msg-Id: <edge>:<sequence>:<version>` |
| HELIX_ACCESS | `helix.v1.access.<tenant>` | `Nats-Msg-Id: access:<ring>:<first>-<last>:<tenant>:<part>` |
| HELIX_AUDIT | `helix.v1.audit.<tenant>` | `Nats-Msg-Id: audit:<source>:<first>-<last>:<tenant>` |
| HELIX_CALLS | `helix.v1.calls.<tenant>` | as HELIX_AUDIT |
| HELIX_ANSWERS | `helix.v1.answers.<tenant>.<key>` | `Nats-Msg-Id: answer:<tenant>:<key>` |
| HELIX_PAIRS | `helix.v1.pairs.<tenant>.<sequence>` | `Nats-Msg-Id: pairs:<sequence>:<epoch>` |
| HELIX_DLQ | `helix.v1.dlq.<service>.<tenant>` | `Helix-Reason`, `Helix-Sequence`, `Helix-Event-Sequence` |
| none, a request | `helix.v1.ask.<edge>` | `Helix-Event-Sequence`, `Helix-Model` |
| none, a request | `helix.v1.ask.letters` | |
| none, a request without a reply | `helix.v1.ask.pause.<shard>` | |

The de-duplication id contains the tenant because the stream de-duplicates across all subjects: without it,
an event would be dropped when another tenant had used its id. An imported event also has the headers
`Helix-Stored-At` and `Helix-Seal` (`helix_shared.broker.stored_at`). An event outside any session has the
session token `-`.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from helix_memory.limits import TOKEN_PATTERN

EVENTS_STREAM: Final = "HELIX_EVENTS"
DERIVED_STREAM: Final = "HELIX_DERIVED"
ACCESS_STREAM: Final = "HELIX_ACCESS"
AUDIT_STREAM: Final = "HELIX_AUDIT"
CALLS_STREAM: Final = "HELIX_CALLS"
DLQ_STREAM: Final = "HELIX_DLQ"
ANSWERS_STREAM: Final = "HELIX_ANSWERS"
PAIRS_STREAM: Final = "HELIX_PAIRS"
ADVISORY_STREAM: Final = "HELIX_ADVISORIES"

ROOT: Final = "helix.v1"
NO_SESSION: Final = "-"
UNKNOWN_TENANT: Final = "-"
LIFECYCLE_KINDS: Final = ("forget", "erase", "undo", "feedback")
"""Kinds that consolidation reads; ingest reads all others. Not in `events`, which is slow to import."""

MSG_ID_HEADER: Final = "Nats-Msg-Id"
EVENT_SEQUENCE_HEADER: Final = "Helix-Event-Sequence"
MADE_WITH_HEADER: Final = "Helix-Made-With"
"""Of a derived message: version of the rules of its worker, and the settings that change its result."""
REASON_HEADER: Final = "Helix-Reason"
SUBJECT_HEADER: Final = "Helix-Subject"
SEQUENCE_HEADER: Final = "Helix-Sequence"
STREAM_HEADER: Final = "Helix-Stream"
MODEL_HEADER: Final = "Helix-Model"
ATTEMPTS_HEADER: Final = "Helix-Attempts"
"""How often a refused message was delivered."""
REDRIVE_HEADER: Final = "Helix-Redrive"
"""How often what a message says was redriven; a message without it was not."""
STORED_AT_HEADER: Final = "Helix-Stored-At"
"""Of an imported event: when the server that it comes from stored it; counts with a seal only."""
SEAL_HEADER: Final = "Helix-Seal"
EVENTS_HEADER: Final = "Helix-Events"
"""Sequences of the events whose text is behind a message, with commas."""

ALL_EVENTS: Final = f"{ROOT}.events.>"
"""Filter of every subject of a stream; likewise the next ones."""
ALL_DERIVED: Final = f"{ROOT}.derived.>"
ALL_ACCESSES: Final = f"{ROOT}.access.>"
ALL_AUDITS: Final = f"{ROOT}.audit.>"
ALL_CALLS: Final = f"{ROOT}.calls.>"
ALL_ANSWERS: Final = f"{ROOT}.answers.>"
ALL_PAIRS: Final = f"{ROOT}.pairs.>"
ALL_LETTERS: Final = f"{ROOT}.dlq.>"
LETTER_REQUESTS: Final = f"{ROOT}.ask.letters"
"""Subject of requests to redrive or drop dead letters (`transport.letter_requests`)."""
EDGES: Final = ("memories", "expansions", "links", "statements", "verdicts")

_TOKEN = re.compile(TOKEN_PATTERN)
_NUMBER_DIGITS: Final = 18
"""Digits of the largest sequence that is read: a number of 64 bits holds each of as many digits."""
_EVENT_TOKENS: Final = 6
_TENANT_TOKEN: Final = {"events": 3, "access": 3, "answers": 3, "pairs": 3, "derived": 4}
"""Position of the tenant in a subject, by the third token of the subject."""
_BOUND_DIGITS: Final = 32
_BOUND: Final = re.compile(rf"(.+):[0-9a-f]{{{_BOUND_DIGITS}}}", re.DOTALL)
"""Of a bound message id: 128 bits."""


@dataclass(frozen=True, slots=True)
class EventAddress:
    """The tokens of an event subject, `helix.v1.events.<tenant>.<session>.<kind>`."""

    tenant_id: str
    session_id: str
    kind: str


def is_token(token: str) -> bool:
    """Whether `token` is a valid subject token."""
    return _TOKEN.match(token) is not None and "\n" not in token


def event_subject(tenant_id: str, session_id: str, kind: str) -> str:
    """Subject of an event; an empty session becomes the token `-`.

    Raises:
        ValueError: a part is not a token of `limits.TOKEN_PATTERN`.
    """
    parts = (tenant_id, session_id or NO_SESSION, kind)
    for part in parts:
        if not is_token(part):
            message = f"subject token {part[:80]!r} does not match {TOKEN_PATTERN}"
            raise ValueError(message)
    return ".".join((ROOT, "events", *parts))


def parse_event_subject(subject: str) -> EventAddress | None:
    """The tokens of an event subject, or None when it is malformed."""
    parts = subject.split(".")
    if len(parts) != _EVENT_TOKENS or parts[:3] != [*ROOT.split("."), "events"]:
        return None
    if not all(is_token(part) for part in parts[3:]):
        return None
    tenant, session, kind = parts[3:]
    return EventAddress(tenant, "" if session == NO_SESSION else session, kind)


def kind_of(subject: str) -> str:
    """The last token of a subject with six tokens; else an empty string. The other tokens are not checked."""
    parts = subject.split(".")
    return parts[-1] if len(parts) == _EVENT_TOKENS else ""


def tenant_of(subject: str) -> str:
    """The tenant token of a subject of events or of what is made of them, unchecked; empty: it has none."""
    tokens = subject.split(".")
    position = _TENANT_TOKEN.get(tokens[2], len(tokens)) if len(tokens) > 2 else len(tokens)  # noqa: PLR2004
    return tokens[position] if position < len(tokens) else ""


def edge_of(subject: str) -> str:
    """The edge of a subject of HELIX_DERIVED; empty for any other subject."""
    return _first_token(subject, ALL_DERIVED)


def service_of(subject: str) -> str:
    """The service of a subject of HELIX_DLQ; empty for any other subject."""
    return _first_token(subject, ALL_LETTERS)


def is_within(subject: str, every: str) -> bool:
    """Whether a subject passes a filter that ends with `>`, as `ALL_EVENTS` does."""
    return subject.startswith(every.removesuffix(">"))


def events_of_tenant(tenant_id: str) -> str:
    """Subject filter for all events of a tenant."""
    return f"{ROOT}.events.{tenant_id}.>"


def events_of_kind(kind: str, *, tenant_id: str = "*", session_id: str = "*") -> str:
    """Subject filter for one kind of event; `*` stands for all, also as the kind.

    With names in place of tokens, as `{kind}`, it is the form of the subjects of events.
    """
    return f"{ROOT}.events.{tenant_id}.{session_id}.{kind}"


def session_messages(tenant_id: str, session_id: str) -> str:
    """Subject of every `message` event of one session."""
    return event_subject(tenant_id, session_id, "message")


def derived_subject(edge: str, tenant_id: str) -> str:
    """Subject of a derived message."""
    return f"{ROOT}.derived.{edge}.{tenant_id}"


def derived_filler() -> str:
    """Subject of the message that ends a file of the stream; it holds nothing and is of no event."""
    return derived_subject("filler", UNKNOWN_TENANT)


def derived_edge(edge: str) -> str:
    """Subject filter for one edge of all tenants."""
    return f"{ROOT}.derived.{edge}.*"


def answer_subject(tenant_id: str, key: str) -> str:
    """Subject of the recorded answer of a language model; `key` is a hash of what was asked, `*` any."""
    return f"{ROOT}.answers.{tenant_id}.{key}"


def pairs_subject(tenant_id: str, event_sequence: int | str) -> str:
    """Subject of the pairs of an event about which consolidation is unsure; `*` filters for all."""
    return f"{ROOT}.pairs.{tenant_id}.{event_sequence}"


def pause_request_subject(shard: int | str) -> str:
    """Subject of requests to the writers of a shard to give up their lease for a while; `*`: of any."""
    return f"{ROOT}.ask.pause.{shard}"


def derivation_request_subject(edge: str) -> str:
    """Subject of requests to derive a message of an edge again."""
    return f"{ROOT}.ask.{edge}"


def dlq_subject(service: str, tenant_id: str) -> str:
    """Dead-letter subject; a tenant that is not a valid token is replaced by `-`."""
    return f"{ROOT}.dlq.{service}.{tenant_id if is_token(tenant_id) else UNKNOWN_TENANT}"


def dlq_filter(service: str = "", tenant_id: str = "") -> str:
    """Subject filter for the dead letters of a service and a tenant; empty: of all."""
    return f"{ROOT}.dlq.{service or '*'}.{tenant_id or '*'}"


def _first_token(subject: str, every: str) -> str:
    """The token in the place where the filter `every` has `>`; empty where the subject does not pass it."""
    start = every.removesuffix(">")
    return subject.removeprefix(start).partition(".")[0] if subject.startswith(start) else ""


def number_in(text: str) -> int:
    """The sequence or count that a text is; 0 where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _NUMBER_DIGITS else 0


def header_number(headers: Mapping[str, str] | None, name: str) -> int:
    """The number in a header, which anybody may have written; 0 where it is none."""
    return number_in((headers or {}).get(name, ""))


def message_id(tenant_id: str, event_id: str) -> str:
    """De-duplication id of a public event."""
    return f"{tenant_id}:{event_id}"


def bound_message_id(message_id: str, secret: str) -> str:
    """The id of an event that is published with a user of NATS, whose password is the secret.

    The stream de-duplicates across all tenants. Who knows the id of a coming event could publish another one
    with it first, and the stream would drop the event. Nobody else can make this id.
    """
    return f"{message_id}:{hmac.digest(secret.encode(), message_id.encode(), 'sha256').hex()[:_BOUND_DIGITS]}"


def event_ids_of(message_id: str) -> tuple[str, ...]:
    """The event ids of which a public event may have this message id: one, or two where it may be bound."""
    stated = message_id.partition(":")[2]
    bound = _BOUND.fullmatch(stated)
    return (stated, bound[1]) if bound else (stated,)


def answer_message_id(tenant_id: str, key: str) -> str:
    """De-duplication id of a recorded answer."""
    return f"answer:{tenant_id}:{key}"


def pairs_message_id(event_sequence: int, epoch: int) -> str:
    """De-duplication id of pairs; a later writer, which has another epoch, publishes them again."""
    return f"pairs:{event_sequence}:{epoch}"


def derived_message_id(edge: str, event_sequence: int, version: str) -> str:
    """De-duplication id of a derived message: the same worker cannot store it twice."""
    return f"{edge}:{event_sequence}:{version}"


def access_subject(tenant_id: str) -> str:
    """Subject of the accesses of a tenant; `*` filters for all tenants."""
    return f"{ROOT}.access.{tenant_id}"


def audit_subject(tenant_id: str) -> str:
    """Subject of the audit records of commands and erasures of a tenant, `-` where none is proven.

    `*` filters for all. Those of calls are on `calls_subject`.
    """
    return f"{ROOT}.audit.{tenant_id or UNKNOWN_TENANT}"


def calls_subject(tenant_id: str) -> str:
    """Subject of the audit records of calls of the query service, likewise: they come far more often."""
    return f"{ROOT}.calls.{tenant_id or UNKNOWN_TENANT}"


def audit_message_id(source: str, first: int, last: int, tenant_id: str) -> str:
    """De-duplication id of a message with audit records; `source` is a ring, or a random name."""
    return f"audit:{source}:{first}-{last}:{tenant_id or UNKNOWN_TENANT}"


def access_message_id(ring: str, first: int, last: int, tenant_id: str, part: int) -> str:
    """De-duplication id of a message about the accesses `first` to `last` of a ring."""
    return f"access:{ring}:{first}-{last}:{tenant_id}:{part}"
