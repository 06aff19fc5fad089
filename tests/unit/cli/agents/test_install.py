import json
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from helix_cli.agents.connection import Connection, Installed, checked
from helix_cli.agents.hosts import HOSTS
from helix_cli.commands.agent import app
from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.sources.agents import Agent

THEIRS: dict[Agent, dict[str, Any]] = {
    Agent.CLAUDE_CODE: {
        "model": "opus",
        "hooks": {
            "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine.sh"}]}],
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "http", "url": "http://x/hooks/y"}]}],
        },
    },
    Agent.CODEX: {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine.sh"}]}]}},
    Agent.CURSOR: {"version": 1, "hooks": {"stop": [{"command": "mine.sh"}]}},
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of a user, with a home of Helix in it, and no variable of an agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HELIX_TENANT", "HELIX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def helix(*words: str) -> Result:
    """Run `helix agent`."""
    return CliRunner().invoke(app, list(words))


def write(agent: Agent, content: object, *, indent: int = 4) -> Path:
    """The file of an agent."""
    path = HOSTS[agent].file(None)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content, indent=indent) + "\n")
    return path


def entries(agent: Agent, event: str) -> list[Any]:
    """The single hooks of an event."""
    groups = json.loads(HOSTS[agent].file(None).read_text())["hooks"].get(event, [])
    return [one for group in groups for one in group.get("hooks", [group])]


@pytest.mark.parametrize("agent", list(Agent))
def test_installing_keeps_what_is_there_and_twice_changes_nothing(agent: Agent) -> None:
    """What the user has stays, also its indentation; the second time not a byte changes."""
    path = write(agent, THEIRS[agent])
    assert helix("install", agent, "--tenant", "acme", "--user", "ana").exit_code == 0
    once = path.read_bytes()
    assert helix("install", agent, "--tenant", "acme", "--user", "ana").exit_code == 0
    assert path.read_bytes() == once
    assert b'\n    "' in once
    content = json.loads(once)
    assert {key: content[key] for key in THEIRS[agent] if key != "hooks"} == {
        key: value for key, value in THEIRS[agent].items() if key != "hooks"
    }
    for event, theirs in THEIRS[agent]["hooks"].items():
        assert content["hooks"][event][: len(theirs)] == theirs
    assert set(HOSTS[agent].events) <= set(content["hooks"])


@pytest.mark.parametrize("agent", list(Agent))
def test_uninstalling_leaves_the_file_as_it_was(agent: Agent) -> None:
    """Every byte of it, where its form is that of the program; without a file before, none stays."""
    path = write(agent, THEIRS[agent])
    before = path.read_bytes()
    helix("install", agent)
    assert helix("uninstall", agent).exit_code == 0
    assert path.read_bytes() == before
    path.unlink()
    helix("install", agent)
    assert path.exists()
    helix("uninstall", agent)
    assert not path.exists()
    assert "no hooks of Helix" in helix("uninstall", agent).output


def test_installing_for_another_tenant_replaces_the_hooks() -> None:
    """There is one installation of a scope."""
    helix("install", "claude-code", "--tenant", "acme")
    helix("install", "claude-code", "--tenant", "other", "--gateway", "http://127.0.0.1:9000")
    [hook] = entries(Agent.CLAUDE_CODE, "UserPromptSubmit")
    assert hook["url"] == "http://127.0.0.1:9000/hooks/claude-code"
    assert hook["headers"] == {"Helix-Tenant": "other"}


def test_claude_code_asks_over_http_except_at_the_start_of_a_session() -> None:
    """It drops hooks of type http at SessionStart without a word."""
    helix("install", "claude-code", "--tenant", "acme", "--user", "ana")
    kinds = {event: entries(Agent.CLAUDE_CODE, event)[0]["type"] for event in HOSTS[Agent.CLAUDE_CODE].events}
    assert kinds == {
        "SessionStart": "command", "UserPromptSubmit": "http", "Stop": "http", "SessionEnd": "http",
    }  # fmt: skip


@pytest.mark.parametrize("user", ["$HOME", "Zoë"])
def test_a_header_that_http_hooks_would_change_goes_through_the_program(user: str, home: Path) -> None:
    """Claude Code replaces $NAME in headers, and takes no letters beyond ASCII."""
    helix("install", "claude-code", "--user", user)
    assert entries(Agent.CLAUDE_CODE, "UserPromptSubmit")[0]["type"] == "command"
    connection = (home / ".helix" / "agents" / "claude-code.conf").read_text()
    assert f"Helix-User: {user}" in connection.splitlines()


def test_a_token_stays_in_its_file(home: Path) -> None:
    """No file that install writes holds it; the program reads it at each call."""
    token = home / "token"
    token.write_text("s3cr3t\n")
    helix("install", "claude-code", "--token-file", str(token))
    written = [one for one in home.rglob("*") if one.is_file() and one != token]
    assert written
    assert not [one for one in written if "s3cr3t" in one.read_text()]
    assert entries(Agent.CLAUDE_CODE, "Stop")[0]["type"] == "command"


def test_a_dry_run_shows_the_change_and_writes_nothing(home: Path) -> None:
    """Neither the file of the agent nor the program."""
    path = write(Agent.CODEX, THEIRS[Agent.CODEX])
    before = path.read_bytes()
    shown = helix("install", "codex", "--dry-run").output
    assert '+    "UserPromptSubmit"' in shown.replace("        ", "    ")
    assert path.read_bytes() == before
    assert not (home / ".helix").exists()
    helix("install", "codex")
    assert "-" in helix("uninstall", "codex", "--dry-run").output
    assert entries(Agent.CODEX, "UserPromptSubmit")


@pytest.mark.parametrize(
    "damaged", ["{", "[1]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// c\n{}", "\xff"]
)
def test_a_file_of_another_form_is_refused_and_left_alone(damaged: str) -> None:
    """A file that the program does not understand must not lose anything."""
    path = write(Agent.CLAUDE_CODE, {})
    path.write_bytes(damaged.encode("latin-1"))
    result = helix("install", "claude-code")
    assert isinstance(result.exception, InvalidInputError)
    assert path.read_bytes() == damaged.encode("latin-1")


def test_a_link_to_the_file_stays_a_link_and_its_mode_stays(home: Path) -> None:
    """Users keep such files in a repository of their own."""
    kept = home / "dotfiles" / "settings.json"
    kept.parent.mkdir()
    kept.write_text("{}\n")
    kept.chmod(0o640)
    path = HOSTS[Agent.CLAUDE_CODE].file(None)
    path.parent.mkdir()
    path.symlink_to(kept)
    helix("install", "claude-code")
    assert path.is_symlink()
    assert "hooks" in json.loads(kept.read_text())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


def test_hooks_of_a_project_stand_in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the file that is not committed; the user's own file is not touched."""
    project = tmp_path / "weather"
    project.mkdir()
    monkeypatch.chdir(project)
    helix("install", "claude-code", "--scope", "project", "--tenant", "acme")
    assert json.loads((project / ".claude" / "settings.local.json").read_text())["hooks"]
    assert not HOSTS[Agent.CLAUDE_CODE].file(None).exists()


@pytest.mark.parametrize(
    "gateway", ["127.0.0.1:7464", "ftp://x", "http://", "http://a b", "http://h:x", "http://u@h"]
)
def test_an_address_that_is_none_is_refused(gateway: str) -> None:
    """The message names the option."""
    with pytest.raises(HelixError, match="--gateway"):
        checked(Connection("codex", gateway, "acme", ""))


def test_the_name_of_the_user_cannot_add_a_header() -> None:
    """A line feed would begin another line of the connection."""
    with pytest.raises(HelixError, match="--user"):
        checked(Connection("codex", "http://h", "acme", "ana\nHelix-Tenant: other"))


def test_command_lines_survive_blanks_in_paths(tmp_path: Path) -> None:
    """A home may have a name of two words."""
    installed = Installed.of(tmp_path / "my home", "codex", None)
    assert f"'{installed.program}'" in installed.command


@pytest.mark.parametrize(
    ("gateway", "is_safe"),
    [
        ("http://10.0.0.5:7464", False),
        ("http://helix.example", False),
        ("https://helix.example", True),
        ("http://localhost", True),
        ("http://[::1]:7464", True),
    ],
)
def test_a_token_is_sent_to_other_machines_encrypted_alone(
    tmp_path: Path, gateway: str, *, is_safe: bool
) -> None:
    """As by the client; the program of the hooks would send it before each prompt."""
    token = tmp_path / "token"
    token.write_text("t")
    checked(Connection("codex", gateway, "acme", "ana"))
    if is_safe:
        checked(Connection("codex", gateway, "acme", "ana", token))
    else:
        with pytest.raises(InvalidInputError, match="in the clear"):
            checked(Connection("codex", gateway, "acme", "ana", token))
