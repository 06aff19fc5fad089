"""Waits of a call end at its deadline."""

import threading
import time

import pytest

from helix_query.recall.stopwatch import Stopwatch
from helix_query.scheduling.lazy import Lazy
from helix_shared.errors import OverdueError


def test_a_value_that_another_thread_makes_is_waited_for_until_the_deadline() -> None:
    """The other thread continues, and the next reader gets its value."""
    gate, started = threading.Event(), threading.Event()
    lazy = Lazy(lambda: (started.set(), gate.wait(60)))
    making = threading.Thread(target=lambda: lazy.value)
    making.start()
    assert started.wait(5)
    began = time.monotonic()
    with pytest.raises(OverdueError):
        lazy.wait(began + 0.05)
    assert time.monotonic() - began > 0.04
    assert making.is_alive()
    gate.set()
    making.join()
    assert lazy.wait(0.0)


def test_no_stage_starts_after_the_deadline() -> None:
    """A recall without a waiting caller does no more work."""
    stage = Stopwatch(time.monotonic() + 60)
    with stage("embed"):
        pass
    stage.deadline = time.monotonic()
    with pytest.raises(OverdueError), stage("route"):
        raise AssertionError
    assert [name for name, _ in stage.seconds] == ["embed"]
