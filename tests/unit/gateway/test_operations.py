"""Requests and replies have the names of the client, and the document describes them."""

import json
from typing import Any, get_type_hints

import jsonschema
import pytest

from helix_gateway.operations import proto_json
from helix_gateway.operations.operation import Operation
from helix_gateway.operations.reading import READING
from helix_gateway.operations.requests import parsed_json, parsed_query
from helix_gateway.operations.writing import WRITING
from helix_gateway.rest.openapi import document
from helix_memory.client import AsyncHelix, Helix, options
from helix_memory.client.results import Recalled, Written
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError
from tests.unit.gateway.gateways import StubHelix, client_of

OPERATIONS: dict[str, Operation] = {one.name: one for one in (*READING, *WRITING)}
OPTIONS = {
    "recall": options.RecallOptions, "list": options.ListOptions, "timeline": options.TimelineOptions,
    "sessions": options.PageOptions, "remember": options.RememberOptions, "message": options.EventOptions,
    "document": options.EventOptions, "correct": options.CorrectOptions, "forget": options.SelectOptions,
    "undo": options.ActorOptions, "feedback": options.ActorOptions,
}  # fmt: skip
NOT_REMOTE = {"acting_as", "close", "principals", "session", "state", "states", "tenant", "user", "wait"}
"""What a client has that is no operation; `why_not` tells the state of a memory, too."""


def test_every_method_of_the_client_is_an_operation() -> None:
    """The gateway mirrors it."""
    methods = {name for name in dir(Helix) if not name.startswith("_")} - NOT_REMOTE
    assert methods == set(OPERATIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_request_has_every_option_of_the_client_but_the_user(name: str) -> None:
    """The user is that of the credential, and the deadline that of the gateway."""
    wanted = get_type_hints(OPTIONS[name]).keys() - {"user", "deadline_seconds"}
    assert wanted <= OPERATIONS[name].request.model_fields.keys()
    assert "user" not in OPERATIONS[name].request.model_fields


async def test_options_reach_the_client_under_their_names() -> None:
    """Only those that were given."""

    async def answer(*_: object, **__: object) -> Recalled:
        return Recalled.of(recall_pb2.RecallResponse(abstained=True))

    helix = StubHelix(answer)
    body = {
        "query": "tea?",
        "types": "decision",
        "event_after": "2026-01-02T03:04:05Z",
        "after": 7,
        "mode": None,
    }
    async with client_of(helix) as client:
        answered = await client.post("/v1/recall", json=body)
    assert answered.json()["abstained"] is True
    assert "message" not in answered.json()
    [(name, args, given)] = helix.calls
    assert (name, args, given["types"], given["after"].sequence) == ("recall", ("tea?",), ["decision"], 7)
    assert given["event_after"].isoformat() == "2026-01-02T03:04:05+00:00"
    assert given.keys() == {"types", "event_after", "after"}


def test_every_type_of_a_failure_is_described_where_its_status_is() -> None:
    """A program that gets one finds out what to do."""
    found = document(OPERATIONS.values())["components"]
    types = found["schemas"]["Error"]["properties"]["error"]["properties"]["type"]["enum"]
    described = "; ".join(one["description"] for one in found["responses"].values()).split("; ")
    assert {one for one in types if not any(text.startswith(f"{one}: ") for text in described)} == set()
    assert "internal" in types


def test_a_reply_as_after_is_told_what_to_give() -> None:
    """Programs give the reply of a write, as those of Python may."""
    with pytest.raises(InvalidInputError, match="`sequence` of the reply") as refused:
        parsed_json(OPERATIONS["recall"].request, b'{"query": "x", "after": {"sequence": 7}}', {})
    assert refused.value.field == "after"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (b'{"query": "x", "topk": 1}', "topk"),
        (b'{"query": "x", "tenant": "beta"}', "tenant"),
        (b'{"query": "x", "event_after": "2026-01-02T03:04:05"}', "event_after"),
        (b'{"query": "x", "already_served": ["short"]}', "already_served.0"),
        (b"{}", "query"),
        (b"[]", "request"),
        (b"{", "request"),
        (b'{"query": NaN}', "request"),
        (b'\xff{"query": "x"}', "request"),
    ],
)
def test_a_bad_body_names_its_field(sent: bytes, field: str) -> None:
    """Nothing unknown is dropped silently."""
    with pytest.raises(InvalidInputError) as refused:
        parsed_json(OPERATIONS["recall"].request, sent, {})
    assert refused.value.field == field


def test_parameters_of_an_address_are_read_as_their_types() -> None:
    """A repeated one is a list; one that the path has is refused."""
    listing = OPERATIONS["list"].request
    pairs = [("types", "code"), ("types", "decision"), ("page_size", "5"), ("sessions", "s1")]
    sent: Any = parsed_query(listing, pairs, {})
    assert (sent.types, sent.page_size, sent.sessions) == (["code", "decision"], 5, ["s1"])
    with pytest.raises(InvalidInputError, match="is given by the path"):
        parsed_query(OPERATIONS["get"].request, [("id", "0" * 32)], {"id": "1" * 32})


@pytest.mark.parametrize("path", ["crm/42/erase", "crm%2F42%2Ferase"])
async def test_the_receipt_of_an_erasure_is_found_by_every_id_that_an_event_may_have(path: str) -> None:
    """An id may hold a slash, which clients encode or not."""
    helix = StubHelix(receipt)
    async with client_of(helix) as client:
        answered = await client.get(f"/v1/erasures/{path}")
    assert answered.status_code == 200
    assert helix.calls[0][1][0].event_id == "crm/42/erase"


async def receipt(*_: object) -> recall_pb2.GetErasureResponse:
    """That of an erasure."""
    return recall_pb2.GetErasureResponse()


def test_the_document_describes_every_operation_and_refers_to_nothing_that_is_missing() -> None:
    """Each request and reply has a schema."""
    found = document(OPERATIONS.values())
    described = {one["operationId"] for path in found["paths"].values() for one in path.values()}
    assert described == set(OPERATIONS)
    for part in json.dumps(found).split('"$ref": "')[1:]:
        place: Any = found
        for name in part.partition('"')[0].removeprefix("#/").split("/"):
            place = place[name]
        assert place


def _filled(message: Any) -> Any:
    """A message with every field set, two levels deep."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and field.is_repeated:
            getattr(message, field.name).add()
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
        elif not field.is_repeated and field.enum_type is None:
            text = field.cpp_type == field.CPPTYPE_STRING
            setattr(message, field.name, "x" if text else 1)
    return message


@pytest.mark.parametrize("is_filled", [True, False])
@pytest.mark.parametrize(
    "kind",
    [
        recall_pb2.Candidate, recall_pb2.WhyNotResponse, recall_pb2.GetStatusResponse,
        recall_pb2.GetHistoryResponse, recall_pb2.NeighboursResponse, recall_pb2.GetErasureResponse,
    ],
)  # fmt: skip
def test_replies_of_the_query_service_are_as_their_schema_says(kind: Any, *, is_filled: bool) -> None:
    """Every field is there; what has no value is null."""
    defs: dict[str, Any] = {}
    schema = {**proto_json.schema(kind.DESCRIPTOR, defs), "$defs": defs}
    message = _filled(kind()) if is_filled else kind()
    found = json.loads(json.dumps(proto_json.plain(message)))
    jsonschema.validate(found, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**found, next(iter(found)): object()}, schema)


def test_numbers_enums_and_moments_are_plain() -> None:
    """Not as protobuf's JSON format writes them."""
    status = recall_pb2.GetStatusResponse(applied_sequence=2**40)
    status.published_at.FromJsonString("2026-11-22T09:30:00Z")
    found = proto_json.plain(status)
    assert (found["applied_sequence"], found["published_at"]) == (2**40, "2026-11-22T09:30:00Z")
    assert found["accesses"] is None
    why_not = recall_pb2.WhyNotResponse(loss=recall_pb2.LOSS_THRESHOLD)
    assert proto_json.plain(why_not)["loss"] == "threshold"


async def test_a_pdf_comes_in_base64() -> None:
    """And is refused where it is none."""

    async def written(*_: object, **__: object) -> Written:
        return Written("e", "m", 1, duplicate=False)

    helix = StubHelix(written)
    async with client_of(helix) as client:
        body = {"document_id": "d", "body_base64": "JVBERg=="}
        assert (await client.post("/v1/document", json=body)).status_code == 200
        refused = [
            await client.post("/v1/document", json={**body, "body_base64": text}) for text in ("%", "\u00e9")
        ]
    assert helix.calls[0][2]["body"] == b"%PDF"
    assert {(one.status_code, one.json()["error"]["field"]) for one in refused} == {(400, "body_base64")}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"body": "text"}, "body_base64"),
        ({"body_base64": "/w==", "media_type": "text/html"}, "body_base64"),
        ({"body_base64": "", "body": ""}, "body_base64"),
        ({"body_base64": None, "body": "%PDF", "media_type": "application/pdf"}, "media_type"),
    ],
)
async def test_no_part_of_a_document_is_dropped(more: dict[str, Any], field: str) -> None:
    """Two contents, or one that is not of its type, are refused by the client behind the gateway."""
    sent = {"document_id": "d", "body_base64": "JVBERg==", **more}
    helix: Any = AsyncHelix(nats_port=1, query_port=1, deadline_seconds=0.1)
    async with helix, client_of(helix) as client:
        refused = await client.post("/v1/document", json=sent)
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, field)


async def test_a_file_of_text_keeps_its_type() -> None:
    """The media type reaches the client, which reads the bytes as that."""

    async def written(*_: object, **__: object) -> Written:
        return Written("e", "m", 1, duplicate=False)

    helix = StubHelix(written)
    async with client_of(helix) as client:
        sent = {"document_id": "d", "body_base64": "PGI+", "media_type": "text/html"}
        assert (await client.post("/v1/document", json=sent)).status_code == 200
    [(_, _, given)] = helix.calls
    assert (given["body"], given["media_type"]) == (b"<b>", "text/html")


async def test_an_argument_in_the_wrong_place_is_refused() -> None:
    """A POST takes none from its address, and a GET none from a body."""
    helix = StubHelix()
    async with client_of(helix) as client:
        posted = await client.post("/v1/recall?top_k=3", json={"query": "tea?"})
        got = await client.request("GET", "/v1/memories", content=b'{"page_size": 3}')
    assert [(one.status_code, one.json()["error"]["field"]) for one in (posted, got)] == [
        (400, "top_k"), (400, "body"),
    ]  # fmt: skip
    assert not helix.calls


def test_a_request_describes_the_options_that_its_class_inherits() -> None:
    """The OpenAPI document says of `correct` what it says of every write."""
    properties = document(WRITING)["components"]["schemas"]["CorrectRequest"]["properties"]
    assert "a repeated one changes nothing" in properties["event_id"]["description"]
    assert "Multiplier of relevance" in properties["priority"]["description"]
