"""Background tasks: the result is collected once, and a dropped task cleans up."""

from __future__ import annotations

import threading

import pytest

from helix_shared.artifacts.files.background_task import BackgroundTask


def test_a_result_is_collected_once() -> None:
    """There is no result before the task ends, and none after it was collected."""
    task: BackgroundTask[int] = BackgroundTask()
    assert task.collect(wait=True) is None
    task.start(lambda: 7)
    assert task.is_running
    assert task.collect(wait=True) == 7
    assert (task.is_running, task.collect()) == (False, None)


def test_a_panic_of_an_engine_is_collected_as_an_ordinary_failure() -> None:
    """So a compaction that panics counts as one that failed, and the writer goes on."""
    panic = type("PanicException", (BaseException,), {})

    def work() -> None:
        raise panic("no")

    task: BackgroundTask[None] = BackgroundTask()
    task.start(work)
    with pytest.raises(RuntimeError, match="PanicException: no"):
        task.collect(wait=True)


@pytest.mark.parametrize("ends_before", [True, False])
def test_a_dropped_task_cleans_up(*, ends_before: bool) -> None:
    """`clean_up` runs after the task, whether the task ends before it is dropped or later."""
    task: BackgroundTask[None] = BackgroundTask()
    may_end, ended, cleaned_up = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        may_end.wait(10)
        ended.set()

    task.start(work)
    if ends_before:
        may_end.set()
        assert ended.wait(10)
    task.drop(clean_up=lambda: cleaned_up.set() if ended.is_set() else None)
    assert not task.is_running
    may_end.set()
    assert cleaned_up.wait(10)
