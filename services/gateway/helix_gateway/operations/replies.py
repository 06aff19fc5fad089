"""Replies: what the client returns as JSON, with the schema of it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Protocol, get_type_hints

from google.protobuf.message import Message
from pydantic import TypeAdapter, create_model

from helix_gateway.operations import proto_json


class Reply(Protocol):
    """The form of a reply."""

    def plain(self, value: Any) -> dict[str, Any]:
        """A result of the client as a value of JSON."""

    def schema(self, defs: dict[str, Any]) -> dict[str, Any]:
        """Its schema; definitions that it refers to are added to `defs`."""


class ValueReply:
    """A dataclass of the client, or a model of the gateway; fields that are protobuf messages are left out."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self._names = [one.name for one in fields(kind)] if is_dataclass(kind) else []
        hints = get_type_hints(kind) if self._names else {}
        self._names = [name for name in self._names if not _is_message(hints[name])]
        is_whole = not hints or len(self._names) == len(hints)
        self._model: Any = (
            None
            if is_whole
            else create_model(kind.__name__, **{name: (hints[name], ...) for name in self._names})
        )
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind if is_whole else self._model)

    def plain(self, value: Any) -> dict[str, Any]:
        """A result of the client as a value of JSON."""
        if self._model is not None:
            value = self._model.model_construct(**{name: getattr(value, name) for name in self._names})
        found: dict[str, Any] = self._adapter.dump_python(value, mode="json")
        return found

    def schema(self, defs: dict[str, Any]) -> dict[str, Any]:
        """Its schema."""
        own = self._adapter.json_schema(mode="serialization")
        defs.update(own.pop("$defs", {}))
        name = own.get("title", self._kind.__name__)
        defs[name] = own
        return {"$ref": f"#/$defs/{name}"}


class MessageReply:
    """A message of `recall.proto`."""

    def __init__(self, kind: type[Message]) -> None:
        self._kind = kind

    def plain(self, value: Any) -> dict[str, Any]:
        """A reply of the query service as a value of JSON."""
        return proto_json.plain(value)

    def schema(self, defs: dict[str, Any]) -> dict[str, Any]:
        """Its schema."""
        return proto_json.schema(self._kind.DESCRIPTOR, defs)


def _is_message(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Message)


def reply_of(kind: type) -> Reply:
    """The reply for a class."""
    return MessageReply(kind) if issubclass(kind, Message) else ValueReply(kind)
