"""`helix keys`: what it says, copies and rotates, without showing a key."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from helix_cli.__main__ import app
from helix_shared.keys.key_store import KEYS, KeyStore
from helix_shared.keys.owner import owner_code

ANA = owner_code("acme", "ana")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a key of one user."""
    with KeyStore.held(tmp_path / "home/data" / KEYS) as keys:
        keys.key_for(ANA, 1)
    return tmp_path / "home"


def run(home: Path, *arguments: str) -> Result:
    """`helix keys` on a home."""
    return CliRunner(env={"HELIX_HOME": str(home)}).invoke(app, ["keys", *arguments])


def test_keys_are_counted_and_not_shown(home: Path) -> None:
    """Nobody learns a key from a terminal."""
    told = json.loads(run(home, "show", "--json").stdout)
    assert (told["keys"], told["rotations"]) == (1, 0)
    with KeyStore.held(home / "data" / KEYS) as keys:
        secret = keys.state_key.hex()
    assert secret not in run(home, "show").output


def test_a_copy_opens_until_it_is_brought_up_to_date(home: Path, tmp_path: Path) -> None:
    """An erasure reaches the copy with the next `helix keys copy`."""
    assert run(home, "copy", str(tmp_path / "safe")).exit_code == 0
    with KeyStore.held(home / "data" / KEYS) as keys:
        keys.destroy({ANA: [(1, 1)]})
    with KeyStore.held(tmp_path / "safe") as copied:
        assert copied.find(f"1-{ANA}", 1)
    assert run(home, "copy", str(tmp_path / "safe")).exit_code == 0
    with KeyStore.held(tmp_path / "safe") as copied:
        assert copied.find(f"1-{ANA}", 1) is None


@pytest.mark.parametrize("drops", [True, False])
def test_rotated_keys_keep_or_drop_the_older_ones(home: Path, *, drops: bool) -> None:
    """Dropped, no older backup can be read."""
    assert run(home, "rotate", *(["--drop-old"] if drops else [])).exit_code == 0
    with KeyStore.held(home / "data" / KEYS) as keys:
        assert keys.epoch == 2
        assert (keys.find(f"1-{ANA}", 1) is None) is drops


def test_a_home_without_keys_is_told_so(tmp_path: Path) -> None:
    """And gets none by looking."""
    for arguments in (("show",), ("copy", str(tmp_path / "safe")), ("rotate",)):
        found = run(tmp_path, *arguments)
        assert found.exit_code == 1
        assert "holds no keys" in " ".join(found.output.split())
    assert not (tmp_path / "data").exists()
