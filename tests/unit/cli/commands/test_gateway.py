"""`helix gateway` hands its settings to the gateway that it becomes."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app


def test_the_gateway_keeps_its_sessions_in_the_home_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--home` counts as the variable does."""
    given: dict[str, str] = {}
    monkeypatch.setattr(os, "execve", lambda _, __, environment: given.update(environment))
    addresses = ["--nats", "nats://127.0.0.1:1", "--query", "127.0.0.1:2"]
    done = CliRunner().invoke(app, ["gateway", "--port", "0", "--home", str(tmp_path), *addresses])
    assert done.exit_code == 0, done.output
    assert given["HELIX_HOME"] == str(tmp_path)
    assert given["HELIX_GATEWAY_QUERY_ADDRESS"] == "127.0.0.1:2"
