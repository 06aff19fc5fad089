"""The client of a language model against a server that answers well, badly, late, and not at all."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from helix_extract.answers.prompt import LISTS, answer_schema
from helix_extract.answers.records import RecordedAnswer
from helix_extract.settings import ExtractSettings
from helix_shared.endpoint import client as client_module
from helix_shared.endpoint.client import Endpoint, Question, RefusedError, UnavailableError
from helix_shared.endpoint.json_text import object_in

from .endpoint_server import EndpointServer

pytestmark = pytest.mark.integration

TURN = json.dumps({"turn": 1, "date": "2026-03-02", "role": "user", "text": "The kiln is booked."})
QUESTION = Question("windows", "system", TURN, answer_schema(), most_tokens=200)


def client_of(server: EndpointServer, **settings: Any) -> Endpoint:
    """A client with short times."""
    values = {"base_url": server.url, "model": "small", "timeout_seconds": 2.0, "breaker_seconds": 0.2}
    return Endpoint.of(ExtractSettings(**{**values, **settings}), key="sesame")


async def test_the_strictest_form_that_works_is_found_once(server: EndpointServer) -> None:
    """A server without json_schema and json_object gets plain text, and is not asked for more again."""
    server.refuses = ("json_schema", "json_object")
    async with client_of(server) as client:
        for _ in range(2):
            reply = await client.ask(QUESTION)
            assert object_in(reply.text, LISTS)[0] is not None
    assert forms_of(server) == ["json_schema", "json_object", "text", "text"]
    assert (reply.prompt_tokens, reply.completion_tokens) == (400, 100)


@pytest.mark.parametrize(
    ("refused", "tried"),
    [
        (("json_schema",), ["json_schema", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", "text"]),
    ],
)
async def test_a_form_that_is_refused_later_is_left_for_the_next(
    server: EndpointServer, refused: tuple[str, ...], tried: list[str]
) -> None:
    """Another model behind the same address: the question is answered, and the form is remembered."""
    async with client_of(server) as client:
        await client.ask(QUESTION)
        server.refuses = refused
        for _ in range(3):
            reply = await client.ask(QUESTION)
            assert object_in(reply.text, LISTS)[0] is not None
        assert client.form.name == tried[-1]
    assert forms_of(server) == ["json_schema", *tried, tried[-1], tried[-1]]


async def test_a_question_that_no_form_makes_acceptable_leaves_the_form_as_it_was(
    server: EndpointServer,
) -> None:
    """The next question is asked in the strictest form, with its temperature."""
    async with client_of(server) as client:
        await client.ask(QUESTION)
        server.statuses = [(400, {}, "too long")] * 4
        with pytest.raises(RefusedError):
            await client.ask(QUESTION)
        await client.ask(QUESTION)
    assert forms_of(server) == ["json_schema", "json_schema", "json_object", "text", "text", "json_schema"]
    assert server.requests[-1]["temperature"] == 0.0


async def test_a_form_that_the_settings_name_is_kept(server: EndpointServer) -> None:
    """Who asks for a schema gets no answer without one."""
    async with client_of(server, structured="json_schema") as client:
        await client.ask(QUESTION)
        server.refuses = ("json_schema",)
        with pytest.raises(RefusedError):
            await client.ask(QUESTION)
    assert set(forms_of(server)) == {"json_schema"}


def forms_of(server: EndpointServer) -> list[str]:
    """The form that each request asked for."""
    return [request.get("response_format", {}).get("type", "text") for request in server.requests]


async def test_a_schema_is_sent_where_it_is_accepted(server: EndpointServer) -> None:
    """With the key in the header, and nothing else about the machine."""
    async with client_of(server) as client:
        await client.ask(QUESTION)
    (request,) = server.requests
    assert request["response_format"]["json_schema"]["schema"] == answer_schema()
    assert server.keys == ["Bearer sesame"]
    assert (request["model"], request["temperature"]) == ("small", 0.0)


async def test_a_refused_temperature_is_left_out(server: EndpointServer) -> None:
    """The form of the answer stays the strictest."""
    server.refuses = ("temperature",)
    async with client_of(server) as client:
        await client.ask(QUESTION)
        await client.ask(QUESTION)
    assert [("temperature" in request) for request in server.requests] == [True, False, False]
    assert {request["response_format"]["type"] for request in server.requests} == {"json_schema"}


async def test_the_longest_answer_has_the_name_that_the_server_asks_for(server: EndpointServer) -> None:
    """Models that think before they answer refuse `max_tokens` and name another field."""
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.statuses = [(400, {}, json.dumps({"error": {"message": message}}))]
    async with client_of(server) as client:
        await client.ask(QUESTION)
        await client.ask(QUESTION)
    assert [request.get("max_completion_tokens") for request in server.requests] == [None, 200, 200]
    assert [request.get("max_tokens") for request in server.requests] == [200, None, None]
    assert set(forms_of(server)) == {"json_schema"}


async def test_a_pause_that_the_server_asks_for_is_kept(server: EndpointServer) -> None:
    """429 with Retry-After: nothing is sent before, and it counts as no failure."""
    server.statuses = [(429, {"Retry-After": "1"}, "")]
    async with client_of(server) as client:
        begun = time.monotonic()
        with pytest.raises(UnavailableError) as paused:
            await client.ask(QUESTION)
        assert 0.5 < paused.value.delay_seconds <= 1.0
        with pytest.raises(UnavailableError, match="breaker is open"):
            await client.ask(QUESTION)
        await asyncio.sleep(paused.value.delay_seconds)
        await client.ask(QUESTION)
        assert time.monotonic() - begun >= 0.9
    assert len(server.requests) == 2


async def test_a_slow_server_is_given_up_at_the_time_limit(server: EndpointServer) -> None:
    """The call ends near its limit, not when the server does."""
    server.seconds = 6.0
    async with client_of(server, timeout_seconds=0.3) as client:
        begun = time.monotonic()
        with pytest.raises(UnavailableError, match="timeout"):
            await client.ask(QUESTION)
        assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize(("patience", "state"), [(0.0, "open"), (60.0, "closed")])
async def test_the_limit_of_a_caller_is_a_timeout(
    server: EndpointServer, monkeypatch: pytest.MonkeyPatch, patience: float, state: str
) -> None:
    """It is counted, and opens the breaker unless the caller had no patience."""
    monkeypatch.setattr(client_module, "PATIENCE_SECONDS", patience)
    server.seconds = 0.5
    counted = client_module.CALLS.labels(QUESTION.call, "timeout")
    before = counted._value.get()
    async with client_of(server, breaker_failures=2, timeout_seconds=60, breaker_seconds=600) as client:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await client.ask(QUESTION, seconds=0.1)
        assert (client.breaker.state, counted._value.get() - before) == (state, 2)


async def test_a_question_that_finds_no_place_in_time_was_not_sent(server: EndpointServer) -> None:
    """It costs no tokens, and says nothing about the server."""
    async with client_of(server, concurrency=1, breaker_failures=1) as client:
        async with client._places:
            with pytest.raises(UnavailableError, match="busy"):
                await client.ask(QUESTION, seconds=0.05)
        assert (server.requests, client.breaker.state) == ([], "closed")
        await client.ask(QUESTION)


async def test_the_query_of_an_address_stays_behind_its_path() -> None:
    """Some servers take the version of their interface there."""
    settings = ExtractSettings(base_url="http://127.0.0.1:9/v1/?api-version=1", model="small")
    async with Endpoint.of(settings, key="") as client:
        assert str(client._url) == "http://127.0.0.1:9/v1/chat/completions?api-version=1"


async def test_half_an_emoji_of_a_cut_answer_can_be_recorded(server: EndpointServer) -> None:
    """JSON may hold one half of a surrogate pair; no text of UTF-8 does."""
    message = {"content": "kiln \ud83d"}
    server.statuses = [(200, {}, json.dumps({"choices": [{"message": message, "finish_reason": "length"}]}))]
    async with client_of(server) as client:
        reply = await client.ask(QUESTION)
    answer = RecordedAnswer(model="small", prompt="2", text=reply.text, is_cut=reply.is_cut)
    assert json.loads(answer.model_dump_json())["text"] == "kiln ?"


async def test_after_failures_nothing_is_sent_until_a_trial(server: EndpointServer) -> None:
    """Three failures open the breaker; one question tries again, and closes it."""
    server.status = 500
    async with client_of(server, breaker_failures=3) as client:
        for _ in range(3):
            with pytest.raises(UnavailableError, match="status 500"):
                await client.ask(QUESTION)
        with pytest.raises(UnavailableError, match="breaker is open"):
            await client.ask(QUESTION)
        assert (len(server.requests), client.breaker.state) == (3, "open")
        server.status = 0
        await asyncio.sleep(client.breaker.wait_seconds)
        await client.ask(QUESTION)
        assert client.breaker.state == "closed"


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    """No socket listens: a failure that may pass."""
    with EndpointServer() as server:
        gone = server.url
    settings = ExtractSettings(base_url=gone, model="small")
    async with Endpoint.of(settings, key="") as client:
        with pytest.raises(UnavailableError, match="unreachable"):
            await client.ask(QUESTION)


async def test_a_question_refused_after_others_were_answered_is_final(server: EndpointServer) -> None:
    """Too long for the model, for example; a wrong model name from the start may pass."""
    async with client_of(server) as client:
        await client.ask(QUESTION)
        server.status = 400
        with pytest.raises(RefusedError):
            await client.ask(QUESTION)
    async with client_of(server) as client:
        server.status = 404
        with pytest.raises(UnavailableError, match="no form"):
            await client.ask(QUESTION)


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"choices": []}', '{"choices": [{"message": 7}]}', "x" * 2_000_000]
)
async def test_a_body_that_is_no_completion_is_a_failure(server: EndpointServer, body: str) -> None:
    """An endless one is not read to its end."""
    server.statuses = [(200, {}, body)]
    async with client_of(server) as client:
        with pytest.raises(UnavailableError, match=r"malformed|too long"):
            await client.ask(QUESTION)
