"""Replies: what the client returns as JSON, with the schema of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Protocol, get_type_hints

from google.protobuf.message import Message  # type: ignore[import-untyped] # stubs are a namespace package
from pydantic import create_model

from helix_gateway.operations import proto_json


class Reply(Protocol):
    """The form of a reply."""

    def plain(self, value: Any) -> dict[str, Any]:
        """A result of the client as a value of JSON."""

    def schema(self, defs: dict[str, Any]) -> dict[str, Any]:
        """Its schema; definitions that it refers to are added to `defs`."""


class ValueReply:
    """A dataclass of the client; fields that are protobuf messages are left out."""

    def __init__(self, kind: type) -> None:
        hints = {name: hint for name, hint in get_type_hints(kind).items() if not _is_message(hint)}
        self._names = [one.name for one in fields(kind) if one.name in hints]
        shown: dict[str, Any] = {name: (hints[name], ...) for name in self._names}
        self._model = create_model(kind.__name__, **shown)

    def plain(self, value: Any) -> dict[str, Any]:
        """A result of the client as a value of JSON."""
        found = self._model.model_construct(**{name: getattr(value, name) for name in self._names})
        plain: dict[str, Any] = found.model_dump(mode="json")
        return plain

    def schema(self, defs: dict[str, Any]) -> dict[str, Any]:
        """Its schema."""
        own = self._model.model_json_schema(mode="serialization")
        defs.update(own.pop("$defs", {}))
        defs[self._model.__name__] = own
        return {"$ref": f"#/$defs/{self._model.__name__}"}


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
