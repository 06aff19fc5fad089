"""The plugin of Claude Code, against what that documents of plugins, marketplaces, hooks and MCP servers."""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from helix_cli.agents.hosts import HOSTS
from helix_cli.commands.agent import app
from helix_shared.sources.agents import Agent
from tests.hostile_folder import HostileFolder, environment_of_children

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
RESERVED = {"claude-code-marketplace", "claude-code-plugins", "claude-plugins-official", "agent-skills"}
ROOT = "${CLAUDE_PLUGIN_ROOT}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of a user, with a home of Helix in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "HELIX_TENANT", "HELIX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def gateway() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """An address that answers hooks, and the paths and headers that were asked."""
    asked: list[tuple[str, dict[str, str]]] = []

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((self.path, dict(self.headers)))
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b'{"hookSpecificOutput": {"additionalContext": "known"}}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name of the base class
            pass

    server = HTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def written(folder: Path, *options: str) -> Result:
    """Run `helix agent plugin`; it succeeds."""
    result = CliRunner().invoke(app, ["plugin", "--out", str(folder), *options])
    assert result.exit_code == 0, result.output
    return result


def read(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def plugin_of(folder: Path) -> Path:
    """The plugin to which the marketplace of a folder leads."""
    [entry] = read(folder / ".claude-plugin/marketplace.json")["plugins"]
    assert entry["source"].startswith("./")
    assert ".." not in entry["source"]
    return folder / entry["source"]


def test_marketplace_and_manifest_have_the_fields_that_are_required(home: Path) -> None:
    """Names in lower case with hyphens, none that is reserved; the manifest is alone in its folder."""
    written(home / "out", "--tenant", "acme", "--user", "ana")
    market = read(home / "out/.claude-plugin/marketplace.json")
    [entry] = market["plugins"]
    assert market["owner"]["name"]
    assert market["name"] not in RESERVED
    plugin = plugin_of(home / "out")
    manifest = read(plugin / ".claude-plugin/plugin.json")
    assert NAME.fullmatch(market["name"])
    assert NAME.fullmatch(manifest["name"])
    assert SEMVER.fullmatch(manifest["version"])
    assert (entry["name"], entry["version"]) == (manifest["name"], manifest["version"])
    assert isinstance(manifest["author"]["name"], str)
    assert [path.name for path in (plugin / ".claude-plugin").iterdir()] == ["plugin.json"]
    assert not {"hooks", "mcpServers"} & manifest.keys(), "named twice, the agent loads them twice"
    readme = (home / "out/README.md").read_text(encoding="utf-8")
    assert f"/plugin install {manifest['name']}@{market['name']}" in readme
    assert "| tenant | acme |" in readme
    assert "@" not in readme.replace(f"{manifest['name']}@{market['name']}", "")


def test_its_hooks_are_those_of_install(home: Path) -> None:
    """Same events, matchers, addresses and deadlines; of commands only the place of the program differs."""
    names = ("--tenant", "acme", "--user", "ana", "--gateway", "http://127.0.0.1:7001")
    written(home / "out", *names)
    assert CliRunner().invoke(app, ["install", "claude-code", *names]).exit_code == 0
    hooks = read(plugin_of(home / "out") / "hooks/hooks.json")["hooks"]
    installed = read(HOSTS[Agent.CLAUDE_CODE].file(None))["hooks"]
    assert set(hooks) == set(installed) == set(HOSTS[Agent.CLAUDE_CODE].events)
    for event, groups in hooks.items():
        for ours, theirs in zip(groups, installed[event], strict=True):
            for one in (ours, theirs):
                for hook in one["hooks"]:
                    hook.pop("command", None)
            assert ours == theirs, event
    assert hooks["SessionStart"][0]["hooks"][0]["type"] == "command", "no HTTP hook is called there"


def test_commands_work_where_the_agent_copies_the_plugin(home: Path, gateway: Any) -> None:
    """Nothing but the variable of the agent leads to the program, and it asks for the named caller."""
    url, asked = gateway
    written(home / "out", "--tenant", "acme", "--user", "ana", "--gateway", url)
    copied = home / "cache of plugins/helix-memory"
    shutil.copytree(plugin_of(home / "out"), copied)
    shutil.rmtree(home / "out")
    [group] = read(copied / "hooks/hooks.json")["hooks"]["SessionStart"]
    done = subprocess.run(  # noqa: S602  as the agent does
        group["hooks"][0]["command"],
        shell=True,
        input=b'{"hook_event_name": "SessionStart"}',
        capture_output=True,
        check=True,
        env=os.environ | {"CLAUDE_PLUGIN_ROOT": str(copied)},
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] == "known", done.stderr
    [(path, headers)] = asked
    assert path == "/hooks/claude-code"
    assert (headers["Helix-Tenant"], headers["Helix-User"]) == ("acme", "ana")


def test_the_server_of_a_home_without_tokens_is_the_gateway(home: Path) -> None:
    """MCP over HTTP, with the caller in the headers."""
    written(home / "out", "--tenant", "acme", "--gateway", "http://127.0.0.1:7001/")
    servers = read(plugin_of(home / "out") / ".mcp.json")["mcpServers"]
    url = "http://127.0.0.1:7001/mcp"
    assert servers == {"helix": {"type": "http", "url": url, "headers": {"Helix-Tenant": "acme"}}}


def test_no_file_holds_the_token(home: Path) -> None:
    """It is read from its file by the program of the hooks and by `helix mcp`."""
    (home / "token").write_text("s3cret-token\n")
    (home / "ca.crt").write_text("x")
    access = ("--token-file", str(home / "token"), "--ca-file", str(home / "ca.crt"))
    result = written(home / "out", "--gateway", "https://box:7464", *access)
    assert "it works on no other" in result.stderr
    for path in (home / "out").rglob("*"):
        assert not path.is_file() or "s3cret-token" not in path.read_text(encoding="utf-8")
    plugin = plugin_of(home / "out")
    hooks = read(plugin / "hooks/hooks.json")["hooks"]
    assert {hook["type"] for groups in hooks.values() for one in groups for hook in one["hooks"]} == {
        "command"
    }
    server = read(plugin / ".mcp.json")["mcpServers"]["helix"]
    assert server["args"][:6] == ["-P", "-m", "helix_cli", "mcp", "--url", "https://box:7464"]
    files = {"HELIX_TOKEN_FILE": str(home / "token"), "HELIX_TLS_CA": str(home / "ca.crt")}
    assert server["env"] == files


def test_the_server_imports_nothing_from_the_folder_that_the_agent_works_in(home: Path) -> None:
    """An agent starts it in the checkout of anybody, with the file of the token in its environment."""
    (home / "token").write_text("s3cret-token\n")
    (home / "token").chmod(0o600)
    written(home / "out", "--gateway", "https://box:7464", "--token-file", str(home / "token"))
    server = read(plugin_of(home / "out") / ".mcp.json")["mcpServers"]["helix"]
    hostile = HostileFolder(home / "checkout")
    done = subprocess.run(
        [server["command"], *server["args"]],
        cwd=hostile.path,
        env=environment_of_children() | server["env"],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, hostile.ran) == (0, []), done.stderr


def test_writing_again_changes_the_version_with_the_content(home: Path) -> None:
    """The agent updates a plugin only where its version changes; the same twice writes nothing."""
    written(home / "out", "--user", "ana")
    version = read(plugin_of(home / "out") / ".claude-plugin/plugin.json")["version"]
    assert "nothing to change" in written(home / "out", "--user", "ana").stdout
    assert "wrote" in written(home / "out", "--user", "bo").stdout
    assert read(plugin_of(home / "out") / ".claude-plugin/plugin.json")["version"] != version


def test_a_folder_with_something_else_is_refused(home: Path) -> None:
    """Nothing is written into it."""
    (home / "mine").mkdir()
    (home / "mine/notes.txt").write_text("mine")
    (home / "file").write_text("")
    for name in ("mine", "file"):
        result = CliRunner().invoke(app, ["plugin", "--out", str(home / name)])
        assert result.exit_code != 0
        assert "--out" in str(result.exception)
    assert [path.name for path in (home / "mine").iterdir()] == ["notes.txt"]


def test_it_tells_of_hooks_that_are_installed_besides(home: Path) -> None:
    """Both would ask for every prompt."""
    assert "uninstall claude-code" not in written(home / "out").stderr
    CliRunner().invoke(app, ["install", "claude-code"])
    assert "uninstall claude-code" in written(home / "out").stderr
