import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from helix_lab.channel_share.command import share_command
from helix_lab.sets.data import EvaluationSet
from helix_query.profile.files import load_profiles


@pytest.mark.usefixtures("own_home")
@pytest.mark.long
def test_the_command_writes_a_profile_with_a_fitted_share(
    make_set: Callable[..., EvaluationSet], run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """Everything else of the profile stays; a second run reads the kept curves and writes the same."""
    make_set("mine", turns=28, notes=28)
    out, report = tmp_path / "own" / "fitted.toml", tmp_path / "report.json"
    out.parent.mkdir()
    asked = ("--data", tmp_path / "sets", "--sets", "mine", "--out", out, "--report", report)
    for _ in range(2):
        result = run_command(share_command, *asked)
        assert result.exit_code == 0
    profile = load_profiles(out.parent)["fitted"]
    assert profile.retrieve == load_profiles()["helix"].retrieve
    assert profile.fuse.adaptive is not None
    found = json.loads(report.read_text())
    assert found["adaptive"] == profile.fuse.adaptive.model_dump(mode="json")
    assert 0 <= found["sets"]["mine"]["main"]["fitted"] <= 100
    assert out.read_text().count("# Fitted by `helix-lab share`") == 1
