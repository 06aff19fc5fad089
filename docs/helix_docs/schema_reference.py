"""The references of events (AsyncAPI) and of REST (OpenAPI) as Markdown, from the documents themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from helix_docs.sources import ROOT

Json = Mapping[str, Any]
_FIELDS: Final = ("| field | type and limit | what |", "|---|---|---|")
_LIMITS: Final = {
    "minLength": "at least {} characters", "maxLength": "at most {:,} characters", "minimum": "at least {:,}",
    "maximum": "at most {:,}", "exclusiveMinimum": "above {:,}", "exclusiveMaximum": "below {:,}",
    "minItems": "at least {:,} entries", "maxItems": "at most {:,} entries", "pattern": "`{}`",
}  # fmt: skip


def events_reference() -> str:
    """Subject, header and fields of each kind of event, and of dead letters."""
    document = json.loads((ROOT / "proto/asyncapi.json").read_text(encoding="utf-8"))
    return "\n".join(_events(document))


def event_kinds() -> str:
    """The table of kinds, with links to the reference."""
    document = json.loads((ROOT / "proto/asyncapi.json").read_text(encoding="utf-8"))
    messages = document["components"]["messages"]
    rows = [
        f"| [`{kind}`](/docs/pages/reference/events.md#{kind}) | {_line(messages[kind]['summary'])} |"
        for kind in document["channels"]
        if kind != "deadLetter"
    ]
    return "\n".join(["| kind | what |", "|---|---|", *rows])


def _events(document: Json) -> Iterator[str]:
    yield from (document["info"]["description"], "")
    schemas = document["components"]["schemas"]
    for kind, channel in document["channels"].items():
        message = document["components"]["messages"][kind]
        yield from (f"## {kind}", "", message["summary"], "", f"Subject: `{channel['address']}`", "")
        yield from ("| header | what |", "|---|---|")
        for name, header in message["headers"]["properties"].items():
            pattern = f" It matches {_code(header['pattern'])}." if "pattern" in header else ""
            yield f"| `{name}` | {_line(header['description'])}{pattern} |"
        yield ""
        reference = message["payload"].get("$ref")
        if reference:
            yield from (*_fields(schemas[_name(reference)]), "")
    yield from ("## Shared parts", "")
    payloads = {_name(one["payload"].get("$ref", "")) for one in document["components"]["messages"].values()}
    for name, schema in schemas.items():
        if name not in payloads:
            yield from (f"### {name}", "", _line(schema.get("description", "")), "", *_fields(schema), "")


def rest_reference() -> str:
    """Every path with its request, and the schemas of requests and replies."""
    from helix_gateway.rest.openapi import document  # noqa: PLC0415  takes a second, and only pages of REST need it
    from helix_gateway.rest.routes import OPERATIONS  # noqa: PLC0415  likewise

    return "\n".join(_rest(document(OPERATIONS)))


def _rest(document: Json) -> Iterator[str]:
    components = document["components"]
    yield from ("## Headers", "", "| header | what |", "|---|---|")
    yield from (
        f"| `{name}` | {_line(one['description'])} |" for name, one in components["parameters"].items()
    )
    yield from ("", "## Failures", "", "| status | types |", "|---|---|")
    yield from (
        f"| {status} | {_line(one['description'])} |" for status, one in components["responses"].items()
    )
    yield from ("", "## Operations", "")
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            yield from _operation(path, method.upper(), one)
    yield from ("## Schemas", "")
    for name, schema in components["schemas"].items():
        yield from (f"### {name}", "", _line(schema.get("description", "")), "", *_fields(schema), "")


def _operation(path: str, method: str, one: Json) -> Iterator[str]:
    yield from (f"### {one['operationId']}", "", f"`{method} {path}`: {_line(one['summary'])}", "")
    own = [parameter for parameter in one["parameters"] if "name" in parameter]
    if own:
        yield from _FIELDS
    for parameter in own:
        required = ", required" if parameter["required"] else ""
        what = f"In the {parameter['in']}{required}. {_line(parameter['description'])}"
        yield f"| `{parameter['name']}` | {_type(parameter['schema'])} | {what} |"
    body = one.get("requestBody")
    replied = one["responses"]["200"]["content"]["application/json"]["schema"]
    asked = _type(body["content"]["application/json"]["schema"]) if body else "nothing"
    yield from ("", f"Body: {asked}. Reply: {_type(replied)}.", "")


def _fields(schema: Json) -> Iterator[str]:
    properties = schema.get("properties", {})
    if not properties:
        return
    required = schema.get("required", ())
    yield from _FIELDS
    for name, one in properties.items():
        note = "Required. " if name in required else ""
        default = one.get("default")
        shown = (
            f" Default: `{json.dumps(default)}`."
            if default not in (None, "", []) and "const" not in one
            else ""
        )
        yield f"| `{name}` | {_type(one)} | {note}{_line(one.get('description', ''))}{shown} |"


def _type(schema: Json) -> str:
    """Type and limits in words, a schema of the document as a link to its section."""
    if "$ref" in schema:
        name = _name(schema["$ref"])
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return "empty" if schema["const"] == "" else f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    variants = schema.get("anyOf") or schema.get("oneOf")
    if variants:
        return " or ".join(_type(one) for one in variants)
    return ", ".join([_plain(schema), *_limits(schema)])


def _plain(schema: Json) -> str:
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return {"date-time": "time (RFC 3339)"}.get(schema.get("format", ""), str(kind))


def _limits(schema: Json) -> Iterator[str]:
    if {"minLength", "maxLength"} <= schema.keys():
        yield f"{schema['minLength']:,} to {schema['maxLength']:,} characters"
        schema = {name: value for name, value in schema.items() if name not in {"minLength", "maxLength"}}
    for name, text in _LIMITS.items():
        if name == "pattern" and name in schema:
            yield _code(schema[name])
        elif name in schema:
            yield text.format(schema[name])


def _code(text: str) -> str:
    """Code in a cell of a table."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def _line(text: str) -> str:
    """Text in a cell of a table; `<` begins no tag."""
    return re.sub(r"<(?![^`]*`)", "&lt;", " ".join(text.split())).replace("|", "\\|")


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]
