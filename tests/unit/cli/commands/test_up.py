"""What `helix up` says while it starts."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from helix_cli.commands.operating.up import until_ready
from helix_cli.stack.children import ServiceChild
from helix_cli.stack.service_child import unused_variables
from helix_cli.stack.stack import READY_SECONDS
from helix_shared.errors import TemporaryError


class SlowStack:
    """Is ready at the second look."""

    refusal = ""

    def __init__(self) -> None:
        self.looks = 0

    def wait_ready(self, **_: Any) -> None:
        """As that of a stack."""
        self.looks += 1
        if self.looks == 1:
            raise TemporaryError("query serves generation 1")


def test_the_time_until_everything_is_ready_is_that_since_the_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also after it was said what is missing."""
    stack: Any = SlowStack()
    until_ready(stack, threading.Event(), time.monotonic() - READY_SECONDS - 10)
    missing, ready = capsys.readouterr().out.splitlines()
    assert missing == "not ready yet, still trying: query serves generation 1"
    assert ready.startswith("ready in 130.")


def test_variables_that_a_stack_sets_itself_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`HELIX_GATEWAY_LISTEN` would be taken for granted; a setting that counts is no matter."""
    monkeypatch.setenv("HELIX_GATEWAY_LISTEN", "0.0.0.0:7464")
    monkeypatch.setenv("HELIX_GATEWAY_IN_FLIGHT", "8")
    monkeypatch.setenv("HELIX_INGEST_METRICS_PORT", "9100")
    processes = [
        ServiceChild(name, "none", environment=dict(os.environ) | own, log=tmp_path / "log")
        for name, own in (
            ("gateway-1", {"HELIX_GATEWAY_LISTEN": "127.0.0.1:7464"}),
            ("ingest-2", {"HELIX_INGEST_METRICS_PORT": "9101"}),
        )
    ]
    assert unused_variables(processes) == ["HELIX_GATEWAY_LISTEN"]
