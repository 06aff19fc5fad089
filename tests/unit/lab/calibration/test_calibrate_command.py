import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from helix_lab.calibration.command import calibrate_command
from helix_lab.sets.data import EvaluationSet
from helix_query.profile.files import load_profiles


@pytest.mark.usefixtures("own_home")
@pytest.mark.long
def test_the_command_writes_a_profile_that_abstains_for_strangers(
    make_set: Callable[..., EvaluationSet], run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """Two tenants of chats and notes: their own questions are likely, each other's are not."""
    make_set("mine", turns=112, notes=112)
    out, report = tmp_path / "own" / "careful.toml", tmp_path / "report.json"
    out.parent.mkdir()
    asked = ("--data", tmp_path / "sets", "--sets", "mine", "--out", out, "--report", report)
    result = run_command(calibrate_command, *asked, "--stores", 1, "--attributes", 20)
    assert result.exit_code == 0
    profile = load_profiles(out.parent)["careful"]
    assert profile.retrieve == load_profiles()["helix"].retrieve
    assert profile.abstain.answer is not None
    assert 0 < profile.abstain.threshold < 1
    found = json.loads(report.read_text())
    assert found["held_out"]["all"]["answer"]["auroc_near"] > 0.9
    assert found["threshold"]["mine"]["false_abstention"] <= 0.01
    assert found["threshold"]["mine"]["false_answer_near"] < 0.5
    assert "# Fitted by `helix-lab calibrate`" in out.read_text()
