"""HTTP requests to a gateway, and MCP clients of the SDK towards it."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from typing import Any, NamedTuple

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


class Answer(NamedTuple):
    """Status, JSON and headers of a response."""

    status: int
    body: Any
    headers: Any


def asked(url: str, body: Any = None, **headers: str) -> Answer:
    """GET, or POST where there is a body; `helix_user="ana"` is the header Helix-User."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    data = None
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {"Content-Type": "application/json", **named}
    request = urllib.request.Request(url, data, named)  # noqa: S310  our own server
    try:
        with urllib.request.urlopen(request, timeout=200) as reply:  # noqa: S310  likewise
            return Answer(reply.status, json.loads(reply.read()), reply.headers)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, json.loads(error.read()), error.headers)


def over_stdio(*arguments: str, **environment: str) -> Any:
    """A client of `helix mcp`."""
    command = ["-m", "helix_cli", "mcp", *arguments]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=command, env=environment)))


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured result of a tool; the SDK checks it against the output schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool that fails tells the agent."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


async def lives_through_all_tools(client: Client, text: str) -> None:
    """A memory from remember to forget, with each of the seven tools."""
    tools = {one.name: one for one in (await client.list_tools()).tools}
    assert set(tools) == {"recall", "remember", "get", "timeline", "forget", "correct", "why"}
    assert {name for name, one in tools.items() if one.annotations.read_only_hint} == {
        "recall", "get", "timeline", "why",
    }  # fmt: skip
    assert all(one.output_schema for one in tools.values())
    kept = await called(client, "remember", text=text, session="mcp", wait=True)
    assert kept["visible"]
    assert (await called(client, "remember", text=text, session="mcp"))["duplicate"]
    found = await called(client, "recall", query=text, detail="context")
    assert found["memories"][0]["id"] == kept["id"]
    assert text in found["context"]
    assert (await called(client, "why", id=kept["id"], query=text))["returned"]
    assert [one["id"] for one in (await called(client, "timeline", session="mcp"))["memories"]] == [
        kept["id"]
    ]
    assert text in (await client.read_resource("helix://session/mcp")).contents[0].text
    assert (await client.read_resource("helix://profile")).contents[0].mime_type == "text/plain"
    [offered] = (await client.list_prompts()).prompts
    got = await client.get_prompt(offered.name, {"question": "what does Ana not eat?"})
    assert [(one.required, one.name) for one in offered.arguments] == [(True, "question")]
    assert got.messages[0].role == "user"
    assert "the tool `recall`" in got.messages[0].content.text
    assert got.messages[0].content.text.endswith("Question: what does Ana not eat?")
    later = await called(client, "correct", id=kept["id"], text=f"{text} Twice.")
    again = await called(client, "remember", replaces=kept["id"], text=f"{text} Twice.")
    assert (again["id"], again["duplicate"]) == (later["id"], True)
    for wait in (False, True):
        lost = await refused(client, "remember", text="Nobody keeps this.", replaces="0" * 32, wait=wait)
        assert lost.startswith("invalid_input: memory_id: there is no memory 0000")
    at_once = await called(client, "remember", text=f"{text} At first.", session="mcp")
    await called(client, "remember", text=f"{text} At last.", replaces=at_once["id"])
    with pytest.raises(Exception, match="nothing of a session 'other' is remembered"):
        await client.read_resource("helix://session/other")
    got = await called(client, "get", ids=[later["id"], "0" * 32])
    assert ([one["text"] for one in got["memories"]], got["missing"]) == ([f"{text} Twice."], ["0" * 32])
    listed = (await called(client, "timeline", session="mcp"))["memories"]
    assert [one["text"] for one in listed] == [f"{text} Twice.", f"{text} At last."]
    hidden = await called(client, "forget", ids=[kept["id"], at_once["id"], "0" * 32])
    assert (hidden["visible"], hidden["missing"]) == (True, ["0" * 32])
    assert "names nothing" in await refused(client, "forget", ids=["0" * 32], wait=False)
    assert not (await called(client, "recall", query=text))["memories"]
    await called(client, "forget", ids=[kept["id"], later["id"]], restore=True)
    assert (await called(client, "recall", query=text))["memories"]


async def refuses_what_is_not_an_agents(client: Client) -> None:
    """Unknown arguments, limits, other scopes and erasing."""
    assert "did you mean top_k" in await refused(client, "recall", query="x", topk=3)
    assert "tenant: is not a field here" in await refused(client, "recall", query="x", tenant="beta")
    assert "user: is not a field here" in await refused(client, "remember", text="x", user="bo")
    assert "top_k: must be at most 200" in await refused(client, "recall", query="x", top_k=201)
    with pytest.raises(Exception, match="unknown tool 'erase'"):
        await client.call_tool("erase", {"ids": ["0" * 32]})
    for name, given, reason in (
        ("other", {}, "there is no prompt 'other'"),
        ("recall-first", {}, "question: is missing"),
        ("recall-first", {"question": " "}, "query"),
        ("recall-first", {"question": "x", "tenant": "beta"}, "tenant: is unknown"),
    ):
        with pytest.raises(Exception, match=reason):
            await client.get_prompt(name, given)
    with pytest.raises(Exception, match="there is no resource"):
        await client.read_resource("helix://nothing")
