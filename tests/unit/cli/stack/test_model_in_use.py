from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.stack.hold import is_wanted, request_of, request_path
from helix_cli.stack.model_in_use import follow_generation
from helix_shared.artifacts.generation.folders import CURRENT, folder_of
from helix_shared.artifacts.generation.manifest import Counts, Manifest, ModelIdentity, StreamState
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import choose_model, chosen_model, default_model
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def models(tmp_path: Path, models_dir: Path) -> Path:
    """MiniLM, and the same under the name that comes first by itself."""
    built = default_model(models_dir)
    shutil.copytree(built, tmp_path / "models" / built.name)
    better = tmp_path / "models/bge-small-en-v1.5"
    shutil.copytree(built, better)
    card = read_card(better)
    other = {path: digest for path, digest in card.files.items() if path != "config.json"}
    text = card.model_copy(update={"name": better.name, "files": other}).model_dump_json()
    (better / "model.json").write_text(text)
    return tmp_path / "models"


def _generation(data: Path, checksum: str) -> None:
    folder = folder_of(data, 3)
    folder.mkdir(parents=True)
    manifest = Manifest(
        generation=3,
        published_at=datetime.now(UTC),
        stream=StreamState(name="HELIX_EVENTS"),
        counts=Counts(),
        digest="0" * 16,
        model=ModelIdentity(name="any", checksum=checksum, dimensions=384),
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    (data / CURRENT).write_text("3\n")


def test_a_better_model_that_is_only_installed_changes_nothing(tmp_path: Path, models: Path) -> None:
    """The generation decides: its writer refuses vectors of another model."""
    assert default_model(models).name == "bge-small-en-v1.5"
    minilm = models / "all-MiniLM-L6-v2"
    _generation(tmp_path / "data", read_card(minilm).checksum)
    assert follow_generation(tmp_path / "data", models) == minilm.name
    assert default_model(models) == minilm
    assert follow_generation(tmp_path / "data", models) == ""


def test_without_a_generation_or_its_model_the_choice_stays(tmp_path: Path, models: Path) -> None:
    """A model that is gone cannot be used; the writer then says which one it needs."""
    assert follow_generation(tmp_path / "data", models) == ""
    _generation(tmp_path / "data", "f" * 64)
    assert follow_generation(tmp_path / "data", models) == ""
    assert chosen_model(models) == ""


def test_a_chosen_model_that_is_gone_is_an_error(models: Path) -> None:
    """Another one in its place would make vectors that do not fit."""
    choose_model(models, "all-MiniLM-L6-v2")
    shutil.rmtree(models / "all-MiniLM-L6-v2")
    with pytest.raises(NotFoundError, match="no model 'all-MiniLM-L6-v2'"):
        default_model(models)


def test_a_hold_is_wanted_while_its_process_runs(tmp_path: Path) -> None:
    """The file of a killed command, or a damaged one, holds nothing."""
    home = HomeFolder.at(tmp_path)
    home.run.mkdir()
    assert not is_wanted(home)
    own = request_of(home)
    request_path(home).write_text(json.dumps(own))
    assert is_wanted(home)
    others: list[dict[str, Any]] = [{"machine": "another"}, {"home": {}}, {"pid": 2**22 + 1}]
    for other in others:
        request_path(home).write_text(json.dumps(own | other))
        assert not is_wanted(home), other
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    request_path(home).write_text(json.dumps(own | {"pid": ended.pid, "start_time": "1"}))
    assert not is_wanted(home)
    for damaged in ("", "[]", '{"pid": 1}', '{"pid": "x", "start_time": "1"}'):
        request_path(home).write_text(damaged)
        assert not is_wanted(home)


def test_a_copied_hold_holds_no_copy(tmp_path: Path) -> None:
    """A home is copied while a command holds its writer: the command runs on, and not on the copy."""
    home, copy, moved = (HomeFolder.at(tmp_path / name) for name in ("home", "copy", "moved"))
    home.run.mkdir(parents=True)
    request_path(home).write_text(json.dumps(request_of(home)))
    shutil.copytree(home.root, copy.root)
    assert is_wanted(home)
    assert not is_wanted(copy)
    home.root.rename(moved.root)
    assert is_wanted(moved)
