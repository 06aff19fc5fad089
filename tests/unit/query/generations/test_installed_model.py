"""The model of a generation among those that are installed, and what is said where it cannot be used."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helix_query.generations.installed_model import InstalledEncoders
from helix_shared.artifacts.generation.manifest import ModelIdentity
from helix_shared.encoders.model import CARD_FILE, ModelCard, read_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import NotFoundError


def refusal(models: Path, card: ModelCard) -> str:
    """Why no encoder is found for a generation that this model made."""
    identity = ModelIdentity(name=card.name, checksum=card.checksum, dimensions=card.dimensions)
    manifest: Any = SimpleNamespace(generation=3, model=identity)
    with pytest.raises(NotFoundError) as error:
        InstalledEncoders(models).of(manifest)
    return str(error.value)


def test_a_model_that_is_installed_and_damaged_is_not_called_missing(
    tmp_path: Path, models_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of its files only the card is there; the refusal, which is told once, has the reason, not the log."""
    folder = default_model(models_dir)
    (tmp_path / folder.name).mkdir()
    shutil.copy(folder / CARD_FILE, tmp_path / folder.name)
    said = refusal(tmp_path, read_card(folder))
    assert "model file is missing" in said
    assert str(tmp_path / folder.name) in said
    assert "not installed" not in said
    assert capsys.readouterr().out == ""


def test_a_model_that_is_not_there_is_to_be_installed(tmp_path: Path, models_dir: Path) -> None:
    """The folder that was looked in is named."""
    said = refusal(tmp_path, read_card(default_model(models_dir)))
    assert said.endswith(f"not installed under {tmp_path}: install it, or rebuild with an installed one")
