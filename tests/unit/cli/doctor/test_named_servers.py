"""`helix doctor` on a home on which nothing runs, with the address of a server."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_shared.broker.server import free_port


def examined(home: Path, *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Exit code, and level and text of the findings about servers."""
    done = CliRunner().invoke(app, ["doctor", "--json", "--home", str(home), *arguments])
    found = json.loads(done.stdout)["findings"]
    about = ("nats", "query", "servers")
    return done.exit_code, {
        one["check"]: (one["level"], one["found"]) for one in found if one["check"] in about
    }


@pytest.mark.parametrize(
    ("option", "check", "left"), [("--nats", "nats", "the query service"), ("--query", "query", "NATS")]
)
def test_a_server_that_is_named_alone_is_asked(tmp_path: Path, option: str, check: str, left: str) -> None:
    """It does not answer, which is a problem; of the other one it is said that nobody asked it."""
    address = f"127.0.0.1:{free_port()}"
    code, found = examined(tmp_path, option, f"nats://{address}" if check == "nats" else address)
    assert (code, sorted(found)) == (1, sorted((check, "servers")))
    assert found[check][0] == "problem"
    assert address in found[check][1]
    assert found["servers"] == ("note", f"{left} was not asked: nothing runs")


def test_where_nothing_is_named_and_nothing_runs_nothing_is_asked(tmp_path: Path) -> None:
    """Which is no problem."""
    code, found = examined(tmp_path)
    assert (code, found) == (
        0,
        {"servers": ("note", "NATS and the query service were not asked: nothing runs")},
    )
