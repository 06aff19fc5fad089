"""What the commands that fit parts of a ranking profile have in common."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from helix_lab.calibration.command import calibrate_command
from helix_lab.channel_share.command import share_command
from helix_lab.query_adapter.command import adapter_command
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


@pytest.mark.parametrize("command", [calibrate_command, share_command])
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mine.txt", "", r"out: is mine\.txt: the file of a ranking profile ends in \.toml"),
        ("My own.toml", "", "name: must match"),
        ("mine.toml", "abstain = {}\n[fuse]\nadaptive = {}\n", "a table needs a heading of its own"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(
    command: Callable[..., None],
    name: str,
    text: str,
    said: str,
    run_command: Callable[..., Result],
    tmp_path: Path,
) -> None:
    """Nor may it be one that no query service can read."""
    if text:
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=said):
        run_command(command, "--data", tmp_path, "--out", tmp_path / name)


def test_a_profile_of_one_channel_has_no_share_to_fit(
    run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """The other one answers no question."""
    with pytest.raises(InvalidInputError, match="profile: bm25 has no channel dense to share with"):
        run_command(share_command, "--data", tmp_path, "--out", tmp_path / "x.toml", "--profile", "bm25")


@pytest.mark.parametrize("option", ["--of-memories", "--of-answers"])
def test_a_calibration_without_a_feature_is_refused(
    option: str, run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """There would be nothing to fit."""
    with pytest.raises(InvalidInputError, match="has no feature to fit; name one"):
        run_command(calibrate_command, "--data", tmp_path, "--out", tmp_path / "x.toml", option, "")


def test_an_adapter_is_written_where_it_is_looked_for(
    run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """Numpy adds .npz to any other name."""
    with pytest.raises(InvalidInputError, match=r"out: is mine: the file of an adapter ends in \.npz"):
        run_command(adapter_command, "--data", tmp_path, "--out", tmp_path / "mine")


@pytest.mark.parametrize("command", [calibrate_command, share_command])
def test_one_profile_is_fitted_and_its_folder_is_there(
    command: Callable[..., None], run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """A misspelt folder would leave the shipped profile of that name."""
    asked = ("--data", tmp_path, "--out", tmp_path / "x.toml")
    with pytest.raises(InvalidInputError, match="names 2 ranking profiles; name one"):
        run_command(command, *asked, "--profile", "helix,dense")
    with pytest.raises(InvalidInputError, match="nowhere: is not a folder of ranking profiles"):
        run_command(command, *asked, "--profiles-dir", tmp_path / "nowhere")
