"""What a request passes before anything is asked."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message

from helix_gateway.app import application
from helix_gateway.door import BODY_BYTES
from helix_gateway.failures import KINDS, failure_of
from helix_gateway.settings import GatewaySettings
from helix_memory.transport.credentials import RefusedUserError, UnusableFileError
from helix_shared.errors import InvalidInputError, OverloadedError, UnauthenticatedError
from helix_shared.telemetry.health import Health
from tests.unit.gateway.gateways import HOST, StubHelix, client_of

RECALL = "/v1/recall"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (HOST, 200), ("localhost:7464", 200), ("[::1]:7464", 200), ("127.0.0.1", 200),
        ("evil.example", 403), ("127.0.0.1.evil.example:7464", 403), ("10.0.0.1:7464", 403), ("", 403),
        ("unix", 403), ("unix:7464", 403),
    ],
)  # fmt: skip
async def test_only_names_of_this_gateway_are_answered(host: str, status: int) -> None:
    """A page whose name was bound to loopback afterwards (DNS rebinding) sends its own name."""
    async with client_of(StubHelix()) as client:
        assert (await client.get("/v1/status", headers={"host": host})).status_code == status


@pytest.mark.parametrize(
    ("path", "status"), [("*", 404), ("", 307), ("explorer", 404), ("/", 405), ("//", 404), ("/v1", 404)]
)
async def test_a_path_without_parts_is_answered(path: str, status: int) -> None:
    """Such as that of `OPTIONS *`; the root is a page, and has no other method."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "OPTIONS", "path": path, "root_path": "", "query_string": b"",
        "headers": [(b"host", HOST.encode())],
    }  # fmt: skip
    await application(GatewaySettings.load(), StubHelix(), Health())(scope, receive, send)  # type: ignore[arg-type]  # a stub
    assert sent[0]["status"] == status


async def test_a_configured_name_is_answered() -> None:
    """For a gateway behind a name; health is answered under every name, for probes."""
    async with client_of(StubHelix(), hosts="helix.example, other.example") as client:
        for host, status in (("helix.example:443", 200), ("OTHER.example", 200), ("evil.example", 403)):
            assert (await client.get("/v1/status", headers={"host": host})).status_code == status
        assert (await client.get("/healthz", headers={"host": "10.0.0.1"})).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [(f"http://{HOST}", 200), ("http://127.0.0.1:3000", 403), ("https://evil.example", 403), ("null", 403)],
)
async def test_a_page_of_another_origin_is_refused(origin: str, status: int) -> None:
    """Also one that another program serves on this machine."""
    async with client_of(StubHelix()) as client:
        assert (await client.get("/v1/status", headers={"origin": origin})).status_code == status


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_body_that_a_page_may_send_unasked_is_refused(kind: str) -> None:
    """Only JSON makes a browser ask first."""
    async with client_of(StubHelix()) as client:
        answer = await client.post(RECALL, content=b'{"query":"x"}', headers={"content-type": kind})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "content-type")


async def test_a_body_is_bounded_whether_it_tells_its_size_or_not() -> None:
    """Nothing larger is read."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b" " * (BODY_BYTES // 2)

    headers = {"content-type": "application/json"}
    async with client_of(StubHelix()) as client:
        for content in (b" " * (BODY_BYTES + 1), chunks()):
            answer = await client.post(RECALL, content=content, headers=headers)
            assert (answer.status_code, answer.json()["error"]["type"]) == (413, "too_large")


async def test_more_requests_than_allowed_are_refused_until_one_ends() -> None:
    """The refused caller learns when to come again."""
    going, end = asyncio.Event(), asyncio.Event()

    async def answer(*_: object, **__: object) -> None:
        going.set()
        await end.wait()
        raise InvalidInputError("query", "ended")

    async with client_of(StubHelix(answer), in_flight=1) as client:
        first = asyncio.create_task(client.post(RECALL, json={"query": "x"}))
        await going.wait()
        refused = await client.post(RECALL, json={"query": "x"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert (await client.get("/readyz")).status_code in (200, 503)
        end.set()
        assert (await first).status_code == 400
        assert (await client.post(RECALL, json={"query": "x"})).status_code == 400


async def test_a_hook_for_which_there_is_no_room_is_an_empty_answer() -> None:
    """The prompt goes on; another host and a form are refused, because no later prompt is let in either."""
    going, end = asyncio.Event(), asyncio.Event()

    async def answer(*_: object, **__: object) -> None:
        going.set()
        await end.wait()
        raise InvalidInputError("query", "ended")

    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "which port?", "cwd": "/"}
    async with client_of(StubHelix(answer), in_flight=1) as client:
        first = asyncio.create_task(client.post(RECALL, json={"query": "x"}))
        await going.wait()
        refused = await client.post("/hooks/claude-code", json=prompt)
        assert (refused.status_code, refused.json()) == (200, {})
        assert refused.headers["helix-hook"] == "trouble OverloadedError"
        end.set()
        await first
        large = await client.post("/hooks/claude-code", json={**prompt, "prompt": "x" * BODY_BYTES})
        assert (large.status_code, large.json()) == (200, {})
        foreign = await client.post("/hooks/claude-code", json=prompt, headers={"host": "evil.example"})
        assert foreign.status_code == 403
        assert (await client.post("/hooks/claude-code", data={"prompt": "x"})).status_code == 400


async def test_a_request_that_takes_too_long_ends() -> None:
    """Its call is cancelled."""
    ended = asyncio.Event()

    async def answer(*_: object, **__: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with client_of(StubHelix(answer), request_seconds=0.01, wait_seconds=0.01) as client:
        assert (await client.post(RECALL, json={"query": "x"})).status_code == 504
    assert ended.is_set()


@pytest.mark.parametrize("path", ["/mcp", "/mcp/mem0"])
async def test_no_stream_is_opened_that_would_hold_a_place(path: str) -> None:
    """Clients of the older revision ask for one, and go on without it."""
    async with client_of(StubHelix()) as client:
        for method in ("GET", "DELETE"):
            answer = await client.request(method, path, headers={"accept": "text/event-stream"})
            assert (answer.status_code, answer.json()["error"]["type"]) == (405, "wrong_method")
            assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("kind", [one for one, *_ in KINDS])
async def test_every_error_has_its_status_and_names_its_field(kind: type[Exception]) -> None:
    """As the OpenAPI document says."""
    raised = kind("top_k", "must be 1 to 200") if issubclass(kind, InvalidInputError) else kind("why")

    async def answer(*_: object, **__: object) -> None:
        raise raised

    async with client_of(StubHelix(answer)) as client:
        answered = await client.post(RECALL, json={"query": "x"})
        document = (await client.get("/v1/openapi.json")).json()
    name, status = next((name, status) for one, name, status, _ in KINDS if one is kind)
    error = answered.json()["error"]
    assert (answered.status_code, error["type"]) == (status, name)
    assert str(status) in document["paths"][RECALL]["post"]["responses"]
    if isinstance(raised, InvalidInputError):
        assert (error["field"], error["reason"]) == ("top_k", "must be 1 to 200")
    assert ("retry-after" in answered.headers) == (status in (429, 503, 504))
    assert ("www-authenticate" in answered.headers) == (kind is UnauthenticatedError)


async def test_a_path_that_does_not_exist_is_answered_like_every_failure() -> None:
    """A guess such as /v1/messages is told where the paths are listed."""
    async with client_of(StubHelix()) as client:
        answered = await client.post("/v1/messages", json={"text": "x"})
    error = answered.json()["error"]
    assert (answered.status_code, error["type"]) == (404, "not_found")
    assert "'/v1/messages'" in error["message"]
    assert "/v1/openapi.json" in error["message"]


async def test_an_unknown_error_tells_nothing() -> None:
    """Its message may quote a memory."""

    async def answer(*_: object, **__: object) -> None:
        message = "the secret text"
        raise RuntimeError(message)

    async with client_of(StubHelix(answer)) as client:
        answered = await client.post(RECALL, json={"query": "x"})
    assert answered.status_code == 500
    assert "secret" not in answered.text
    assert failure_of(OverloadedError("full"))["status"] == 429


@pytest.mark.parametrize("error", [RefusedUserError("no"), UnusableFileError("credentials_file", "/etc/x")])
async def test_credentials_of_the_gateway_itself_are_no_fault_of_its_callers(error: Exception) -> None:
    """They would take 400 as a reason to drop an event, and 401 as one to ask for another token."""

    async def answer(*_: object, **__: object) -> None:
        raise error

    async with client_of(StubHelix(answer)) as client:
        answered = await client.post("/v1/remember", json={"text": "x"})
        page = await client.get("/explorer/memories")
    assert (answered.status_code, answered.headers["retry-after"], page.status_code) == (503, "1", 503)
    assert "/etc/x" not in answered.text + page.text
