"""Logs: an error comes with where it arose and its class, never with its message."""

import json
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


UNAWAITED = """
import asyncio, gc, logging, threading
from functools import partial
from helix_shared.telemetry.logs import configure_logging
configure_logging(log_format="json", level="INFO", service="test")

def fail(*_):
    raise ValueError("zanzi" + "purple")

async def failing():
    fail()

async def main():
    asyncio.create_task(failing())
    future = asyncio.get_running_loop().create_future()
    future.set_exception(ValueError("zanzi" + "purple"))
    del future
    asyncio.get_running_loop().call_soon(partial(fail, "zanzi" + "purple"), "zanzi" + "purple")
    await asyncio.sleep(0.01)
    gc.collect()

asyncio.run(main())
thread = threading.Thread(target=fail)
thread.start()
thread.join()
logging.getLogger("asyncio").warning("eof_received() has no effect")
"""


def test_an_error_that_nobody_awaits_is_logged_without_its_message() -> None:
    """Lines of asyncio quote errors and arguments of callbacks, and Python prints the errors of threads."""
    done = subprocess.run(
        [sys.executable, "-c", UNAWAITED], capture_output=True, text=True, timeout=60, check=True
    )
    assert "zanzipurple" not in done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert sorted(line["event"] for line in lines) == [
        "Exception in callback fail",
        "Future exception was never retrieved",
        "Task exception was never retrieved",
        "eof_received() has no effect",
        "exception in a thread",
    ]
    assert all("ValueError" in line["exception"] for line in lines if line["level"] == "error")
    assert sum("in fail" in line.get("exception", "") for line in lines) == 3
