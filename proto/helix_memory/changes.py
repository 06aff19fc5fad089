"""Applies a change that `WhyNot` proposes to a recall request.

The service tries every proposal with the same function before it returns it. A request cannot hold constants
of a ranking profile; they belong in a profile of the server's folder.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format  # type: ignore[import-untyped] # stubs are a namespace package

from helix_memory.recall.v1 import recall_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable


def changed(
    request: recall_pb2.RecallRequest, changes: Iterable[recall_pb2.Change]
) -> tuple[recall_pb2.RecallRequest, dict[str, Any]]:
    """A changed copy of `request`, and the changed constants of its ranking profile by dotted key."""
    values = json_format.MessageToDict(request, preserving_proto_field_name=True)
    constants: dict[str, Any] = {}
    for change in changes:
        value = json.loads(change.value)
        if change.profile_key:
            constants[change.profile_key] = value
        else:
            _put(values, change.request_field.split("."), value)
    made: recall_pb2.RecallRequest = json_format.ParseDict(values, recall_pb2.RecallRequest())
    return made, constants


def _put(values: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        values = values.setdefault(part, {})
    if value is None:
        values.pop(path[-1], None)
    else:
        values[path[-1]] = value
