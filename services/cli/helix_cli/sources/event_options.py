"""One event from the options of a command."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, Final

from helix_cli.sources.jsonl import SAID_KINDS, event_id_of_options
from helix_memory.refusal import MISSING, UNKNOWN
from helix_shared.errors import InvalidInputError
from helix_shared.sources.source_event import Refusal, SourceEvent, from_json

BODY_FIELDS: Final = {"document": "body"}
"""Field that `--text` fills, by kind; `text` for every other kind."""
MESSAGE: Final = "message"
USER: Final = "user"
"""Kind and role where none is given."""
OPTIONS: Final = {
    "session_id": "--session", "user_id": "--user", "project_id": "--project", "type": "--type",
    "tags": "--tag", "event_id": "--event-id", "speaker": "--speaker", "title": "--title", "text": "--text",
    "body": "--text", "tenant_id": "--tenant", "kind": "--kind", "role": "--role",
}  # fmt: skip
"""The option that fills a field of an event."""
_DEFAULTS: Final = {"kind": MESSAGE, "role": USER, "tenant_id": ""}


def named_as_typed(error: InvalidInputError, fields: Mapping[str, Any]) -> InvalidInputError:
    """The error, with the option that filled its field with another value than the default.

    `fields` are all fields of the event, by name; `set` of them are the values of `--set`.
    """
    name = error.field.partition(".")[0]
    value = fields.get("text" if name == "body" else name)
    is_typed = bool(value) and value != _DEFAULTS.get(name) and name in OPTIONS
    is_unknown = error.reason.startswith(UNKNOWN)
    is_set = is_unknown and name in {pair.partition("=")[0] for pair in fields.get("set") or ()}
    if not (is_typed or is_set):
        return error
    reason = error.reason
    if is_unknown and name in OPTIONS:
        reason = f"does not go with {OPTIONS['kind']} {fields['kind']}"
    return InvalidInputError(f"--set {error.field}" if is_set else OPTIONS[name], reason)


def one_event(
    options: dict[str, Any],
    *,
    tenant: str,
    kind: str,
    role: str,
    now: datetime,
    whole: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    where: str = "options",
) -> SourceEvent:
    """The event that the options describe; `whole` makes whole ids of the beginnings of ids.

    `where` names it in a refusal.

    Raises:
        InvalidInputError: they break a rule of the event, or no tenant is named.
        HelixError: what `whole` raised.
    """
    given = {name: value for name, value in options.items() if value or value is False}
    fields = {name: value for name, value in given.items() if name not in {"set", "text"}}
    if options.get("text"):
        fields[BODY_FIELDS.get(kind, "text")] = options["text"]
    typed = set(fields)
    typed |= {name for name, value in (("tenant_id", tenant), ("role", role)) if value}
    fields |= {"kind": kind, "tenant_id": tenant} | ({"role": role or USER} if kind == MESSAGE else {})
    for name, value in map(_assigned, options.get("set") or []):
        _require_settable(name, typed)
        typed.add(name)
        fields[name] = value
    if not fields["tenant_id"]:
        raise InvalidInputError("--tenant", "is missing; name the tenant of the memory, e.g. --tenant acme")
    if kind not in SAID_KINDS:
        fields = whole(fields)
    # before `occurred_at` is filled in, so that the same event gets the same id at any time
    if "event_id" not in fields:
        fields["event_id"] = event_id_of_options(fields)
    fields.setdefault("occurred_at", now.isoformat())
    item = from_json(where, json.dumps(fields).encode())
    if isinstance(item, Refusal):
        raise InvalidInputError(item.field, item.reason + _how_given(item, fields))
    return item


def _require_settable(name: str, typed: Collection[str]) -> None:
    if name == "kind":
        raise InvalidInputError("--set", f"does not take kind; give it with {OPTIONS[name]}")
    if name in typed:
        raise InvalidInputError("--set", f"{name} is given twice")


def _how_given(refusal: Refusal, fields: dict[str, Any]) -> str:
    """How a missing field without an option of its own is given; empty for any other refusal."""
    if refusal.field in fields or refusal.field in OPTIONS or refusal.reason != MISSING:
        return ""
    return f"; give it with --set {refusal.field}=VALUE"


def _assigned(pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise InvalidInputError("--set", f"{pair!r} must read name=value")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
