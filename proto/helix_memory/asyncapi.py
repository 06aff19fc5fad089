"""The AsyncAPI 3.0 document of the public events, generated from the event models.

`make stubs` writes it to proto/asyncapi.json; a contract test checks that the file is current. Limits come
from `helix_memory.limits`, addresses from `helix_memory.subjects`, payloads from `helix_memory.events`.
Rules that span several fields are missing: JSON Schema checks single fields.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from helix_memory import events, limits, subjects

API_VERSION: Final = "1.0.0"
_SCHEMA_REFERENCE: Final = "#/components/schemas/{model}"

Json = dict[str, Any]


def document() -> Json:
    """The whole document."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Helix events",
            "version": API_VERSION,
            "description": (
                "What a program may publish to Helix over NATS JetStream, and where refused events are "
                f"stored. One event has at most {limits.EVENT_BYTES} bytes, body and headers together. An "
                "event that breaks a limit becomes a dead letter with the reason; it is never truncated."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {
            **{kind: _event_channel(kind) for kind in events.EVENT_MODELS},
            "deadLetter": _dlq_channel(),
        },
        "operations": _operations(),
        "components": {
            "messages": {
                **{kind: _event_message(kind) for kind in events.EVENT_MODELS},
                "deadLetter": _dead_letter(),
            },
            "parameters": _parameters(),
            "schemas": _schemas(),
        },
    }


def _event_channel(kind: str) -> Json:
    return {
        "address": subjects.events_of_kind(kind, tenant_id="{tenant}", session_id="{session}"),
        "title": f"{kind} events",
        "description": f"Kept by the stream {subjects.EVENTS_STREAM}.",
        "parameters": {name: {"$ref": f"#/components/parameters/{name}"} for name in ("tenant", "session")},
        "messages": {kind: {"$ref": f"#/components/messages/{kind}"}},
    }


def _dlq_channel() -> Json:
    return {
        "address": subjects.dlq_filter("{service}", "{tenant}"),
        "title": "refused messages",
        "description": f"Kept by the stream {subjects.DLQ_STREAM} until they are processed again.",
        "parameters": {name: {"$ref": f"#/components/parameters/{name}"} for name in ("service", "tenant")},
        "messages": {"deadLetter": {"$ref": "#/components/messages/deadLetter"}},
    }


def _operations() -> Json:
    """The operations from the point of view of Helix: it receives events and sends dead letters."""
    received = {f"receive{kind.capitalize()}": _operation("receive", kind) for kind in events.EVENT_MODELS}
    return {**received, "sendDeadLetter": _operation("send", "deadLetter")}


def _operation(action: str, channel: str) -> Json:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{channel}"}],
    }


def _event_message(kind: str) -> Json:
    model = events.EVENT_MODELS[kind]
    return {
        "name": kind,
        "title": model.__name__,
        "summary": inspect.cleandoc(model.__doc__ or ""),
        "contentType": "application/json",
        "headers": {
            "type": "object",
            "required": [subjects.MSG_ID_HEADER],
            "properties": {
                subjects.MSG_ID_HEADER: {
                    "type": "string",
                    "description": "`<tenant>:<event_id>`; the stream drops a second message of the same id.",
                    "pattern": _message_id_pattern(),
                }
            },
        },
        "payload": {"$ref": _SCHEMA_REFERENCE.format(model=model.__name__)},
    }


def _dead_letter() -> Json:
    headers = {
        subjects.REASON_HEADER: "Why it was refused: the field and the broken rule.",
        subjects.SUBJECT_HEADER: "Subject of the refused message.",
        subjects.STREAM_HEADER: "Stream it was read from.",
        subjects.SEQUENCE_HEADER: "Its sequence in that stream.",
        subjects.EVENT_SEQUENCE_HEADER: "Sequence of the event that it is or comes from; 0: none is known.",
    }
    return {
        "name": "deadLetter",
        "title": "Refused message",
        "summary": "The refused body, byte for byte; the headers hold the reason and the origin.",
        "headers": {
            "type": "object",
            "required": list(headers),
            "properties": {name: {"type": "string", "description": text} for name, text in headers.items()},
        },
        "payload": {"description": "Any bytes."},
    }


def _parameters() -> Json:
    token = f"A token matching {limits.TOKEN_PATTERN}"
    return {
        "tenant": {"description": f"{token}; equals `tenant_id` of the event."},
        "session": {
            "description": f"{token}; equals `session_id` of the event, or is `{subjects.NO_SESSION}`."
        },
        "service": {"description": "The service that refused the message, e.g. ingest."},
    }


def _schemas() -> Json:
    """Payload schemas of all kinds and of the models that they share, by name."""
    _, definitions = models_json_schema(
        [(model, "validation") for model in events.EVENT_MODELS.values()], ref_template=_SCHEMA_REFERENCE
    )
    schemas: Json = definitions["$defs"]
    for model in events.EVENT_MODELS.values():
        _require_kind(schemas[model.__name__])
    return dict(sorted(schemas.items()))


def _require_kind(schema: Json) -> None:
    """Make `kind` a required field: it has a default in Python, but not on the wire."""
    schema["required"] = sorted({*schema.get("required", ()), "kind"})


def _message_id_pattern() -> str:
    token, event_id = (pattern.strip("^$") for pattern in (limits.TOKEN_PATTERN, limits.EVENT_ID_PATTERN))
    return f"^{token}:{event_id}(:[0-9a-f]{{32}})?$"


def encode(described: Mapping[str, Any]) -> str:
    """The document as the text of proto/asyncapi.json."""
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(encode(document()))
