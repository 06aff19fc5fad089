"""The objects that `--json` prints of commands that change files: their names are what programs rely on."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.security import jwks
from helix_shared.encoders.store import default_model
from helix_shared.keys.key_store import KEYS, KeyStore
from helix_shared.keys.owner import owner_code

Printed = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of a user, with an empty home of Helix in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "HELIX_TENANT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "helix"


@pytest.fixture
def printed(home: Path) -> Printed:
    """What a command prints on standard output, which is one JSON value."""

    def run(*arguments: str) -> Any:
        result = CliRunner(env={"HELIX_HOME": str(home)}).invoke(app, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return run


def test_hooks_of_an_agent(printed: Printed, home: Path) -> None:
    """The same names whether they are installed, only shown, or removed."""
    named = ("--tenant", "acme", "--user", "ana", "--gateway", "http://127.0.0.1:7001")
    connection = {"tenant": "acme", "user": "ana", "gateway": "http://127.0.0.1:7001"}
    shown = printed("agent", "install", "codex", *named, "--dry-run")
    path = Path(shown["file"])
    assert not path.exists()
    assert shown.keys() == {"agent", "file", "dry_run", "changed", "diff", *connection}
    assert (shown["agent"], shown["dry_run"], shown["changed"]) == ("codex", True, True)
    assert "UserPromptSubmit" in shown["diff"]
    made = printed("agent", "install", "codex", *named)
    assert made == shown | {"dry_run": False}
    assert path.exists()
    again = printed("agent", "install", "codex", *named)
    assert again == made | {"changed": False, "diff": ""}
    removed = printed("agent", "uninstall", "codex")
    assert removed.keys() == {"agent", "file", "dry_run", "changed", "diff"}
    assert (removed["changed"], removed["dry_run"], path.exists()) == (True, False, False)
    plugin = printed("agent", "plugin", "--out", str(home / "out"), *named)
    wanted = {"folder": str(home / "out"), "changed": True, "plugin": "helix-memory", "marketplace": "helix"}
    assert plugin == wanted | connection


def test_keys_of_backups(printed: Printed, home: Path) -> None:
    """How many there are, and never one of them."""
    with KeyStore.held(home / "data" / KEYS) as keys:
        keys.key_for(owner_code("acme", "ana"), 1)
    copy = str(home / "safe")
    assert printed("keys", "copy", copy) == {"folder": copy, "keys": 1}
    assert printed("keys", "rotate") == {"rotations": 1, "dropped_old": False}
    assert printed("keys", "rotate", "--drop-old") == {"rotations": 2, "dropped_old": True}


def test_secrets(printed: Printed, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of secrets by their paths, and a token once."""
    folder = home / "security"
    made = printed("security", "init", "--tenant", "acme")
    file = made["tenants"][0]["file"]
    assert made == {"folder": str(folder), "made": True, "tenants": [{"tenant": "acme", "file": file}]}
    assert Path(file).is_relative_to(folder)
    assert printed("security", "init", "--tenant", "acme")["made"] is False
    token = printed("security", "token", "--tenant", "acme")
    assert token.keys() == {"id", "token", "expires_at"}
    assert (token["token"][:6], token["expires_at"]) == ("helix_", None)
    assert printed("security", "token", "--tenant", "acme", "--days", "1")["expires_at"].endswith("+00:00")
    assert printed("security", "revoke", token["id"]) == {"ended": token["id"]}
    assert printed("security", "rotate", "--tenant", "acme") == {"tenant": "acme", "file": file}
    assert printed("security", "rotate") == {"rotated": True}
    monkeypatch.setattr(jwks, "fetch_keys", lambda *_: 3)
    keys = str(home / "keys.json")
    assert printed("security", "jwks", "https://issuer.example", keys) == {"keys": 3, "file": keys}


def test_models(printed: Printed, home: Path, models_dir: Path) -> None:
    """A model that was made is told as in the list of all; of one in use also what was made again."""
    built = default_model(models_dir)
    shutil.copytree(built, home / "models" / built.name)
    made = printed("models", "build")
    assert [made] == printed("models", "list")
    assert (made["name"], made["default"], made["state"]) == (built.name, True, "ok")
    used = printed("models", "use", built.name)
    assert used == {"name": built.name, "changed": True, "memories": 0, "generations": []}
