"""A home in which nothing was ever published: every door answers that there is nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record
from helix_cli.stack.stack import Stack
from helix_memory.client import Helix
from helix_shared.artifacts.generation.folders import CURRENT
from tests.integration.test_cli.running import run

pytestmark = pytest.mark.integration

NOTHING = "nothing is stored yet"


def ask(home: Path, path: str, body: dict[str, Any] | None = None) -> Any:
    """What the gateway of the home answers."""
    record = read_record(HomeFolder.at(home))
    assert record is not None
    headers = {"Helix-Tenant": "acme", "Content-Type": "application/json", "Accept": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(record.gateway_url + path, data, headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
        return json.loads(answer.read() or b"{}")


def test_the_command_line_answers_at_once(home: Path) -> None:
    """`ready` means that there is a generation: no command waits for one."""
    assert (home / "data" / CURRENT).read_text().strip() == "1"
    code, out, err = run(home, "recall", "when may I deploy?", "--json")
    found = json.loads(out)
    assert (code, found["abstained"], found.get("memories", [])) == (0, True, []), err
    assert NOTHING in found["abstained_because"]
    code, out, _ = run(home, "recall", "when may I deploy?")
    assert (code, f"nothing found: {NOTHING}" in out) == (0, True), out
    for command in (["memory", "ls"], ["session", "ls"], ["profile", "--user", "ana"], ["doctor"]):
        assert run(home, *command)[0] == 0, command
    assert "generation 1" in run(home, "status")[1]


def test_the_client_and_the_gateway_answer(home: Path) -> None:
    """Client, REST, MCP and the hook of a prompt."""
    record = read_record(HomeFolder.at(home))
    assert record is not None
    with Helix(tenant="acme", query_address=record.query_address, nats_url=record.nats_url) as helix:
        recalled = helix.recall("when may I deploy?")
        assert (recalled.memories, recalled.abstained) == ((), True)
        assert NOTHING in recalled.abstained_because
        assert helix.list().memories == ()
    rest = ask(home, "/v1/recall", {"query": "when may I deploy?"})
    assert (rest["memories"], rest["abstained"], NOTHING in rest["abstained_because"]) == ([], True, True)
    assert ask(home, "/v1/memories")["memories"] == []
    call = {"name": "recall", "arguments": {"query": "when may I deploy?"}}
    told = ask(home, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})["result"]
    assert told["isError"] is False
    assert NOTHING in told["structuredContent"]["abstained_because"]
    prompt = {"session_id": "s", "cwd": str(home), "prompt": "when may I deploy?"}
    assert ask(home, "/hooks/claude-code", prompt | {"hook_event_name": "UserPromptSubmit"}) == {}


def test_the_status_shows_the_gateway(home: Path) -> None:
    """Its address and readiness, for people and as JSON; one that does not answer ends the command with 3."""
    record = read_record(HomeFolder.at(home))
    assert record is not None
    code, out, _ = run(home, "status")
    assert (code, f"gateway {record.gateway_url}  ok" in out) == (0, True), out
    code, out, _ = run(home, "status", "--json")
    assert (code, json.loads(out)["gateway"]) == (0, {"url": record.gateway_url, "problem": ""})
    os.kill(record.pids["gateway-1"], signal.SIGSTOP)
    try:
        code, out, _ = run(home, "status", "--json")
    finally:
        os.kill(record.pids["gateway-1"], signal.SIGCONT)
    assert (code, "does not answer" in json.loads(out)["gateway"]["problem"]) == (3, True)


def test_a_restore_and_a_rebuild_keep_it_empty(home: Path, models_dir: Path, tmp_path: Path) -> None:
    """Both have a generation afterwards, and a home that is restored starts with it."""
    backups = tmp_path / "backups"
    assert run(home, "backup", str(backups))[0] == 0
    keys = home / "data" / "keys"
    other = tmp_path / "other"
    (other / "models").parent.mkdir()
    (other / "models").symlink_to(models_dir)
    shutil.copytree(keys, tmp_path / "keys")
    code, out, err = run(other, "restore", str(backups), "--keys", str(tmp_path / "keys"))
    assert code == 0, out + err
    code, out, err = run(other, "rebuild")
    assert (code, "rebuilt: 0 memories" in out, "made differently" in out) == (0, True, False), out + err
    unused = dict.fromkeys(("doc2query", "kg", "forwarder"), 0)
    with Stack(other, nats_port=0, query_port=0, copies=unused) as stack:
        stack.wait_ready()
        assert NOTHING in run(other, "recall", "when may I deploy?")[1]
        assert run(other, "publish", "--text", "We deploy on Tuesdays.", "--wait")[0] == 0
        assert "Tuesdays" in run(other, "recall", "when may I deploy?")[1]
