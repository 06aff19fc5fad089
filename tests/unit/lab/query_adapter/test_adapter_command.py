from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from helix_lab.query_adapter.command import adapter_command
from helix_lab.sets.data import EvaluationSet
from helix_shared.encoders.model import read_card
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.store import default_model


@pytest.mark.long
@pytest.mark.usefixtures("own_home")
def test_the_command_writes_an_adapter_for_the_default_model(
    make_set: Callable[..., EvaluationSet],
    run_command: Callable[..., Result],
    tmp_path: Path,
    models_dir: Path,
) -> None:
    """Fitted to one set, judged by another."""
    make_set("mine", turns=150, notes=150)
    make_set("other", turns=8, notes=8)
    out = tmp_path / "adapter.npz"
    result = run_command(
        adapter_command, "--data", tmp_path / "sets", "--sets", "mine", "--judged", "other", "--out", out
    )
    assert result.exit_code == 0
    assert "held out" in result.stdout
    adapter = QueryAdapter.load(out)
    assert adapter.encoder == read_card(default_model(models_dir)).encoder_checksum
    assert np.isfinite(adapter.of_vector).all()
    assert adapter.of_vector.any()
