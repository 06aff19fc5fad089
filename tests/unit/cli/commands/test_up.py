"""What `helix up` says while it starts."""

import threading
import time
from typing import Any

import pytest

from helix_cli.commands.operating.up import until_ready
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
