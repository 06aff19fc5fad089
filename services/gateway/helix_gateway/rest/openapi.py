"""The OpenAPI document of the operations; requests and replies are those that the routes use."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.callers import HEADERS
from helix_gateway.failures import INTERNAL, KINDS
from helix_gateway.operations.operation import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_gateway.operations.operation import Operation

DISTRIBUTION: Final = "helix-memory-gateway"
_FAILURES: Final = (*((name, status, text) for _, name, status, text in KINDS), INTERNAL)
_ERROR: Final = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": [name for name, _, _ in _FAILURES]},
                "message": {"type": "string"},
                "field": {"type": "string", "description": "of invalid_input and too_large"},
                "reason": {"type": "string", "description": "the broken limit"},
            },
            "required": ["type", "message"],
        }
    },
    "required": ["error"],
}


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The document of these operations."""
    defs: dict[str, Any] = {"Error": _ERROR}
    paths: dict[str, Any] = {}
    for one in operations:
        paths.setdefault(PREFIX + one.path, {})[one.method.lower()] = _operation(one, defs)
    found = {
        "openapi": "3.1.0",
        "info": {
            "title": "Helix",
            "version": version(DISTRIBUTION),
            "description": "Memory for agents. The names are those of the client, helix_memory.client.",
        },
        "paths": paths,
        "components": {
            "schemas": defs,
            "parameters": {name: _header(name, text) for name, text in HEADERS.items()},
            "responses": {f"{status}": _failure(status) for _, status, _ in _FAILURES},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}, {}],
    }
    moved: dict[str, Any] = json.loads(json.dumps(found).replace("#/$defs/", "#/components/schemas/"))
    return moved


def _operation(one: Operation, defs: dict[str, Any]) -> dict[str, Any]:
    own = one.request.model_json_schema()
    defs.update(own.pop("$defs", {}))
    in_path = {name: own["properties"].pop(name) for name in one.parameters}
    parameters = [_parameter(name, "path", schema, is_required=True) for name, schema in in_path.items()]
    required = [name for name in own.get("required", ()) if name not in in_path]
    described: dict[str, Any] = {"operationId": one.name, "summary": one.summary}
    if one.method == "GET":
        parameters += [
            _parameter(name, "query", schema, is_required=name in required)
            for name, schema in own["properties"].items()
        ]
    else:
        defs[one.request.__name__] = {**own, "required": required}
        described["requestBody"] = {"required": True, "content": _json(_ref(one.request.__name__))}
    headers = [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS]
    failures = {f"{status}": {"$ref": f"#/components/responses/{status}"} for _, status, _ in _FAILURES}
    done = {"description": "done", "content": _json(one.reply.schema(defs))}
    return {**described, "parameters": [*parameters, *headers], "responses": {"200": done, **failures}}


def _parameter(name: str, place: str, schema: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    text = schema.get("description", "")
    return {"name": name, "in": place, "required": is_required, "schema": schema, "description": text}


def _header(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "schema": {"type": "string"}, "description": text}


def _failure(status: int) -> dict[str, Any]:
    texts = [f"{name}: {text}" for name, code, text in _FAILURES if code == status]
    return {"description": "; ".join(texts), "content": _json(_ref("Error"))}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}
