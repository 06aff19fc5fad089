"""`helix gateway` hands its settings to the gateway that it becomes."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of the gateway, which is not started."""
    found: dict[str, str] = {}
    monkeypatch.setattr(os, "execve", lambda _, __, environment: found.update(environment))
    return found


def test_the_gateway_keeps_its_sessions_in_the_home_that_is_named(
    tmp_path: Path, given: dict[str, str]
) -> None:
    """`--home` counts as the variable does."""
    addresses = ["--nats", "nats://127.0.0.1:1", "--query", "127.0.0.1:2"]
    done = CliRunner().invoke(app, ["gateway", "--port", "0", "--home", str(tmp_path), *addresses])
    assert done.exit_code == 0, done.output
    assert given["HELIX_HOME"] == str(tmp_path)
    assert given["HELIX_GATEWAY_QUERY_ADDRESS"] == "127.0.0.1:2"


def test_addresses_may_be_given_as_settings_of_the_gateway(tmp_path: Path, given: dict[str, str]) -> None:
    """Also those of several replicas; nothing has to run on this machine."""
    wanted = {
        "HELIX_GATEWAY_NATS_URL": "nats://log:4222",
        "HELIX_GATEWAY_QUERY_ADDRESS": "a:7461|b:7461",
    }
    done = CliRunner(env=wanted).invoke(app, ["gateway", "--port", "0", "--home", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert {name: given[name] for name in wanted} == wanted
