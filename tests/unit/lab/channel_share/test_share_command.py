import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from helix_lab.channel_share.command import share_command
from helix_lab.sets.data import EvaluationSet
from helix_query.profile.files import load_profiles
from helix_shared.errors import InvalidInputError


@pytest.mark.usefixtures("own_home")
def test_the_command_writes_a_profile_with_a_fitted_share(
    make_set: Callable[..., EvaluationSet], tmp_path: Path
) -> None:
    """Everything else of the profile stays; a second run reads the kept curves and writes the same."""
    make_set("mine", turns=28, notes=28)
    app = typer.Typer()
    app.command()(share_command)
    out, report = tmp_path / "own" / "fitted.toml", tmp_path / "report.json"
    out.parent.mkdir()
    asked = ["--data", str(tmp_path / "sets"), "--out", str(out), "--report", str(report)]
    for _ in range(2):
        result = CliRunner().invoke(app, asked, catch_exceptions=False)
        assert result.exit_code == 0
    profile = load_profiles(out.parent)["fitted"]
    assert profile.retrieve == load_profiles()["helix"].retrieve
    assert profile.fuse.adaptive is not None
    found = json.loads(report.read_text())
    assert found["adaptive"] == profile.fuse.adaptive.model_dump(mode="json")
    assert 0 <= found["sets"]["mine"]["main"]["fitted"] <= 100
    assert out.read_text().count("# Fitted by `helix-lab share`") == 1


def test_a_misspelt_feature_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    """An hour of questions must not end in a typo."""
    app = typer.Typer()
    app.command()(share_command)
    asked = ["--data", str(tmp_path), "--out", str(tmp_path / "x.toml"), "--features", "coverag"]
    with pytest.raises(InvalidInputError, match="coverag"):
        CliRunner().invoke(app, asked, catch_exceptions=False)
