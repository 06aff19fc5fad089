import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_runbook_lists_every_setting_as_it_is() -> None:
    """The table is generated from the settings classes."""
    made = subprocess.run(
        [sys.executable, ROOT / "ops/settings_table.py"], capture_output=True, text=True, check=True
    ).stdout
    runbook = (ROOT / "ops/runbook.md").read_text(encoding="utf-8")
    assert runbook.split("<!-- settings -->\n")[1].split("<!-- settings end -->")[0] == made
