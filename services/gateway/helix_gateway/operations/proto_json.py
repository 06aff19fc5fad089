"""A protobuf message as JSON with the names of the proto file, and the JSON schema of its type.

Unlike protobuf's own JSON format, numbers of 64 bits are numbers (all of ours are below 2^53), every field is
there, null where it has no value, and the value of an enum is its name without the prefix, in lower case.
"""

from __future__ import annotations

import math
from datetime import UTC
from typing import Any, Final

from google.protobuf.descriptor import (  # type: ignore[import-untyped] # stubs are a namespace package
    Descriptor,
    EnumDescriptor,
    FieldDescriptor,
)
from google.protobuf.message import Message  # type: ignore[import-untyped] # stubs are a namespace package

TIMESTAMP: Final = "google.protobuf.Timestamp"
_NUMBERS: Final = {
    FieldDescriptor.CPPTYPE_DOUBLE: "number",
    FieldDescriptor.CPPTYPE_FLOAT: "number",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_STRING: "string",
}


def plain(message: Message) -> dict[str, Any]:
    """The message as a value of JSON."""
    return {field.name: _value(message, field) for field in message.DESCRIPTOR.fields}


def schema(kind: Descriptor, defs: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema of a type; it and those it needs are added to `defs`."""
    if kind.name not in defs:
        defs[kind.name] = {}
        defs[kind.name] = {
            "type": "object",
            "title": kind.name,
            "properties": {field.name: _schema(field, defs) for field in kind.fields},
            "required": [field.name for field in kind.fields],
        }
    return {"$ref": f"#/$defs/{kind.name}"}


def _value(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    if field.is_repeated:
        return [_single(one, field) for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _single(value, field)


def _single(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == TIMESTAMP:
            return value.ToDatetime(tzinfo=UTC).isoformat().replace("+00:00", "Z")
        return plain(value)
    if field.enum_type is not None:
        return _names(field.enum_type).get(value, str(value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _schema(field: FieldDescriptor, defs: dict[str, Any]) -> dict[str, Any]:
    one = _single_schema(field, defs)
    if field.is_repeated:
        return {"type": "array", "items": one}
    if field.has_presence or one.get("type") == "number":
        return {"anyOf": [one, {"type": "null"}]}
    return one


def _single_schema(field: FieldDescriptor, defs: dict[str, Any]) -> dict[str, Any]:
    if field.message_type is not None:
        if field.message_type.full_name == TIMESTAMP:
            return {"type": "string", "format": "date-time"}
        return schema(field.message_type, defs)
    if field.enum_type is not None:
        return {"type": "string", "enum": list(_names(field.enum_type).values())}
    return {"type": _NUMBERS.get(field.cpp_type, "integer")}


def _names(kind: EnumDescriptor) -> dict[int, str]:
    """The names of an enum without what they have in common, its own name: MODE_HYBRID is hybrid."""
    prefix = "".join(f"_{letter}" if letter.isupper() else letter for letter in kind.name).strip("_").upper()
    return {one.number: one.name.removeprefix(f"{prefix}_").lower() for one in kind.values}
