"""Processor time by process, and how the bench reports it."""

import hashlib
import os
import time
from io import StringIO

import pytest
from rich.console import Console

from helix_lab.bench.table import print_report
from helix_lab.bench.writing.processor_time import milliseconds_per_event, process_seconds

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


def test_work_of_a_process_counts_and_waiting_does_not() -> None:
    """What /proc says of this process is what the process says of itself."""
    before, own = process_seconds(os.getpid()), time.process_time()
    while time.process_time() - own < 0.2:
        hashlib.sha256(bytes(1_000_000)).digest()
    time.sleep(0.05)
    spent = process_seconds(os.getpid()) - before
    assert spent == pytest.approx(time.process_time() - own, abs=3 * TICK_SECONDS)


def test_a_process_that_is_gone_is_an_error() -> None:
    """Not zero: a service that died did not work for nothing."""
    with pytest.raises(OSError, match="No such file"):
        process_seconds(2**22 + 1)


def test_time_is_reported_by_service_and_event() -> None:
    """Services add up to the total; one that started meanwhile counts whole."""
    spent = milliseconds_per_event({"nats": 1.0}, {"nats": 1.5, "ingest": 4.0}, events=100)
    assert spent == {"nats": 5.0, "ingest": 40.0, "total": 45.0}


def test_the_report_says_where_the_time_of_an_event_goes() -> None:
    """By service, and against the embedder alone."""
    told = StringIO()
    ingest = {
        **dict.fromkeys(("memories_per_second", "embedder_per_second", "whole_stack_per_second"), 1.0),
        **dict.fromkeys(("of_embedder", "whole_stack_of_embedder"), 0.5),
        "cpu_ms_per_event": {"nats": 5.0, "ingest": 40.0, "total": 45.0},
        "embedder_cpu_ms_per_event": 36.0,
        "embedder_cpu_of_whole_stack": 0.8,
    }
    print_report({"n": 10, "ingest": ingest}, Console(file=told, width=200))
    assert "45.0 ms (nats 5.0, ingest 40.0); the embedder alone 36.0 ms, 80% of it" in told.getvalue()
