"""What the commands that fit parts of a ranking profile have in common."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from helix_lab.calibration.command import calibrate_command
from helix_lab.channel_share.command import share_command
from helix_shared.errors import InvalidInputError


@pytest.mark.parametrize(
    ("command", "option", "feature"),
    [(calibrate_command, "--of-answers", "cosin"), (share_command, "--features", "coverag")],
)
def test_a_misspelt_feature_is_refused_before_anything_is_asked(
    command: Callable[..., None],
    option: str,
    feature: str,
    run_command: Callable[..., Result],
    tmp_path: Path,
) -> None:
    """An hour of questions must not end in a typo."""
    with pytest.raises(InvalidInputError, match=feature):
        run_command(command, "--data", tmp_path, "--out", tmp_path / "x.toml", option, feature)
