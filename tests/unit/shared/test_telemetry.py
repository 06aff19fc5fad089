"""Logs: an error comes with where it arose and its class, never with its message."""

import subprocess
import sys

PROGRAM = """
import logging
from helix_shared.telemetry.logs import configure_logging, logger
configure_logging(log_format="json", level="INFO", service="test")
def fail():
    try:
        raise KeyError("zanzi" + "purple")
    except KeyError as error:
        raise ValueError("zanzi" + "purple") from error
try:
    fail()
except ValueError:
    logger("a").exception("handler failed", sequence=7)
    logging.getLogger("library").exception("foreign")
"""


def test_a_logged_error_has_its_classes_and_lines_and_no_message() -> None:
    """Of our own lines and of those of libraries."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "ValueError" in line
        assert "KeyError" in line
        assert "in fail" in line
        assert "zanzipurple" not in line
