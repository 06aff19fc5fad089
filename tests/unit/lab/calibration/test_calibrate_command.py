import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from helix_lab.calibration.command import calibrate_command
from helix_lab.sets.data import EvaluationSet
from helix_query.profile.files import load_profiles
from helix_shared.errors import InvalidInputError


@pytest.mark.usefixtures("own_home")
def test_the_command_writes_a_profile_that_abstains_for_strangers(
    make_set: Callable[..., EvaluationSet], tmp_path: Path
) -> None:
    """Two tenants of chats and notes: their own questions are likely, each other's are not."""
    make_set("mine", turns=112, notes=112)
    app = typer.Typer()
    app.command()(calibrate_command)
    out, report = tmp_path / "own" / "careful.toml", tmp_path / "report.json"
    out.parent.mkdir()
    asked = ["--data", str(tmp_path / "sets"), "--out", str(out), "--report", str(report)]
    result = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert result.exit_code == 0
    profile = load_profiles(out.parent)["careful"]
    assert profile.retrieve == load_profiles()["helix"].retrieve
    assert profile.abstain.answer is not None
    assert 0 < profile.abstain.threshold < 1
    found = json.loads(report.read_text())
    assert found["held_out"]["all"]["answer"]["auroc_near"] > 0.9
    # the threshold spares the well answered ones; of the others it may hold some back
    assert found["threshold"]["mine"]["false_abstention"] < 0.15
    assert found["threshold"]["mine"]["false_answer_near"] < 0.5
    assert "# Fitted by `helix-lab calibrate`" in out.read_text()


def test_a_misspelt_feature_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    """An hour of questions must not end in a typo."""
    app = typer.Typer()
    app.command()(calibrate_command)
    asked = ["--data", str(tmp_path), "--out", str(tmp_path / "x.toml"), "--of-answers", "cosin"]
    with pytest.raises(InvalidInputError, match="cosin"):
        CliRunner().invoke(app, asked, catch_exceptions=False)
