"""The programs of the documentation that need nothing but Helix, run as the pages show them."""

from pathlib import Path

import pytest

from helix_docs.pages import read_pages
from helix_docs.programs import programs
from helix_docs.running import run_all

pytestmark = [pytest.mark.integration, pytest.mark.long]


def test_programs_of_the_pages_do_what_the_pages_say(tmp_path: Path, models_dir: Path) -> None:
    """`make docs` also runs those that need Node or Go."""
    found = [program for page in read_pages(lambda *_: "") for program in programs(page) if not program.needs]
    assert len(found) >= 4
    assert [
        str(one) for one in run_all(found, tmp_path / "home", models_dir) if one.problem or one.not_run
    ] == []
