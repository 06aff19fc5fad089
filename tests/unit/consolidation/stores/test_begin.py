"""Which prefixes of vectors the writer may scan."""

import shutil
from pathlib import Path

import pytest

from helix_consolidation.stores.begin import require_trained_prefix
from helix_shared.encoders.model import read_card, write_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import InvalidInputError, NotFoundError


def test_only_declared_prefixes_are_scanned(tmp_path: Path, models_dir: Path) -> None:
    """MiniLM was not trained for any; without a model nothing declares one, and all dimensions need none."""
    require_trained_prefix(models_dir, 0)
    with pytest.raises(InvalidInputError, match="must be 0 with the model all-MiniLM-L6-v2, is 128"):
        require_trained_prefix(models_dir, 128)
    with pytest.raises(NotFoundError, match="helix models build"):
        require_trained_prefix(tmp_path / "nowhere", 128)
    require_trained_prefix(tmp_path / "nowhere", 0)
    folder = tmp_path / "all-MiniLM-L6-v2"
    shutil.copytree(default_model(models_dir), folder)
    write_card(folder, read_card(folder).model_copy(update={"matryoshka_dimensions": (128,)}))
    require_trained_prefix(tmp_path, 128)
