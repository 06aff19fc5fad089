"""Worker threads: replacement and shutdown."""

import threading
import time

from helix_query.scheduling.worker_threads import WorkerThreads

from .held import wait_until


def test_a_thread_is_replaced_once() -> None:
    """The old thread ends with its job; a second `replace` of it starts nothing."""
    workers, gate = WorkerThreads(1, name="replaced"), threading.Event()
    running: list[threading.Thread] = []
    job = workers.submit(lambda: running.append(threading.current_thread()) or gate.wait(60))
    wait_until(lambda: bool(running))
    for _ in range(2):
        workers.replace(running[0])
    assert workers.submit(threading.current_thread).result(30) is not running[0]
    assert sum(thread.name == "replaced" for thread in threading.enumerate()) == 2
    gate.set()
    assert job.result(30)
    running[0].join(30)
    assert not running[0].is_alive()
    workers.shutdown()
    assert not [thread for thread in threading.enumerate() if thread.name == "replaced"]


def test_join_ends_at_its_limit() -> None:
    """A thread that hangs does not keep the process from ending."""
    workers, gate = WorkerThreads(2, name="left"), threading.Event()
    job = workers.submit(gate.wait, 60)
    workers.shutdown(wait=False)
    assert not workers.join(time.monotonic() + 0.05)
    assert not job.done()
    gate.set()
    assert workers.join(time.monotonic() + 30)
    assert job.result(0)
