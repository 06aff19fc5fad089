"""What the doctor says of the folder of generations."""

from pathlib import Path

import pytest

from helix_cli.doctor.generation_checks import Generations, generation_checks
from helix_shared.artifacts.generation.folders import folder_of, staging_of


@pytest.mark.parametrize("is_written", [True, False])
def test_a_publication_that_runs_is_not_called_leftovers(tmp_path: Path, is_written: bool) -> None:
    """A writer publishes every second or two: what lies in the staging folder then is its work."""
    folder_of(tmp_path, 1).mkdir(parents=True)
    staging_of(tmp_path, "2.1").mkdir()
    found = generation_checks(tmp_path, Generations(), is_written=is_written)
    assert any(one.check == "staging" for one in found) == (not is_written)
