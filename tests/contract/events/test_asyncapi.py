import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from helix_memory import asyncapi, events, subjects

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
KINDS = sorted(events.EVENT_MODELS)
DOCUMENT = asyncapi.document()


def _resolve(reference: str) -> Any:
    """What a local reference points at."""
    assert reference.startswith("#/"), f"{reference} leaves the document"
    node: Any = DOCUMENT
    for key in reference.removeprefix("#/").split("/"):
        node = node[key]
    return node


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def _payload_schema(kind: str) -> dict[str, Any]:
    """Schema of one kind's payload, able to find the schemas it refers to."""
    return {**DOCUMENT["components"]["messages"][kind]["payload"], "components": DOCUMENT["components"]}


def test_committed_document_is_what_the_models_say() -> None:
    """The committed document is the output of `make stubs`."""
    committed = (ROOT / "proto/asyncapi.json").read_text()
    assert committed == asyncapi.encode(DOCUMENT), "proto/asyncapi.json is stale: run `make stubs`"


def test_document_has_the_shape_of_asyncapi_3() -> None:
    """It has the required fields of the specification and no unknown ones."""
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert set(DOCUMENT) == {"asyncapi", "info", "defaultContentType", "channels", "operations", "components"}
    assert {"title", "version"} <= set(DOCUMENT["info"])
    for channel in DOCUMENT["channels"].values():
        assert set(channel) == {"address", "title", "description", "parameters", "messages"}
    for operation in DOCUMENT["operations"].values():
        assert operation["action"] in {"send", "receive"}
        channel = _resolve(operation["channel"]["$ref"])
        allowed = [f"{operation['channel']['$ref']}/messages/{name}" for name in channel["messages"]]
        assert [message["$ref"] for message in operation["messages"]] == allowed
    for parameter in DOCUMENT["components"]["parameters"].values():
        assert set(parameter) <= {"enum", "default", "description", "examples", "location"}


def test_every_reference_leads_somewhere_inside_the_document() -> None:
    """A reader needs this one file."""
    references = list(_references(DOCUMENT))
    assert len(references) > 50
    for reference in references:
        assert _resolve(reference) is not None


def test_every_address_names_its_parameters() -> None:
    """Placeholders and parameters match in both directions."""
    for channel in DOCUMENT["channels"].values():
        placeholders = {part[1:-1] for part in channel["address"].split(".") if part.startswith("{")}
        assert placeholders == set(channel["parameters"])


@pytest.mark.parametrize("kind", KINDS)
def test_address_of_a_kind_is_the_subject_its_events_are_published_on(kind: str) -> None:
    """The document and the code spell the subject alike."""
    event = events.parse_event((GOLDEN / f"{kind}.json").read_bytes())
    address = DOCUMENT["channels"][kind]["address"]
    session = event.session_id or subjects.NO_SESSION
    assert address.format(tenant=event.tenant_id, session=session) == events.subject_of(event)


@pytest.mark.parametrize("kind", KINDS)
def test_payload_schema_is_valid_and_takes_the_golden_event(kind: str) -> None:
    """A generator in another language accepts the document."""
    jsonschema.Draft7Validator.check_schema(_payload_schema(kind))
    event = json.loads((GOLDEN / f"{kind}.json").read_text())
    jsonschema.Draft7Validator(_payload_schema(kind)).validate(event)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("broken", ["unknown field", "no kind", "no tenant", "tenant is no token"])
def test_payload_schema_refuses_what_the_model_refuses(kind: str, broken: str) -> None:
    """The schema is as strict as the model wherever JSON Schema can express it."""
    event = json.loads((GOLDEN / f"{kind}.json").read_text())
    change = {
        "unknown field": lambda: event.update(importence=1),
        "no kind": lambda: event.pop("kind"),
        "no tenant": lambda: event.pop("tenant_id"),
        "tenant is no token": lambda: event.update(tenant_id="a.b"),
    }
    change[broken]()
    assert not jsonschema.Draft7Validator(_payload_schema(kind)).is_valid(event)


@pytest.mark.parametrize("kind", KINDS)
def test_header_schema_takes_the_message_id_and_nothing_without_the_tenant(kind: str) -> None:
    """`Nats-Msg-Id` is `<tenant>:<event_id>` (ops/decisions/0001)."""
    event = events.parse_event((GOLDEN / f"{kind}.json").read_bytes())
    headers = jsonschema.Draft7Validator(DOCUMENT["components"]["messages"][kind]["headers"])
    assert headers.is_valid({"Nats-Msg-Id": subjects.message_id(event.tenant_id, event.event_id)})
    assert not headers.is_valid({"Nats-Msg-Id": event.event_id})
    assert not headers.is_valid({})


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_payload_is_described(kind: str) -> None:
    """The document is complete for readers who do not have the models."""
    schema = _resolve(DOCUMENT["components"]["messages"][kind]["payload"]["$ref"])
    bare = [name for name, field in schema["properties"].items() if not field.get("description")]
    assert [name for name in bare if name != "kind"] == []
