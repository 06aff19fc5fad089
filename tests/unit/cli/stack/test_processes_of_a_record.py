"""Processes that a record of a run names."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from helix_cli.home.folder import HomeFolder
from helix_cli.home.leftovers import leftovers
from helix_cli.home.record import RunRecord, running_record, start_time, write_record
from helix_cli.stack.children import ServiceChild, processes_of


def test_a_program_of_any_name_has_a_start_time(tmp_path: Path) -> None:
    """The id of an ended process may be that of any program by now; every command reads the record."""
    sleep = shutil.which("sleep")
    assert sleep is not None
    program = tmp_path / os.fsdecode(b"caf\xe9) Z 1")
    shutil.copy(sleep, program)
    process = subprocess.Popen([program, "60"])
    try:
        for _ in range(200):
            if b"caf" in Path(f"/proc/{process.pid}/stat").read_bytes():
                break
            time.sleep(0.01)
        assert int(start_time(process.pid)) >= int(start_time(os.getpid()))
        pids, times = {"kg-1": process.pid}, {"kg-1": "1"}
        record = RunRecord("nats://127.0.0.1:5", "127.0.0.1:6", pids=pids, start_times=times)
        write_record(HomeFolder.at(tmp_path), record)
        assert running_record(HomeFolder.at(tmp_path)) is None
    finally:
        process.kill()
        process.wait()
    assert start_time(process.pid) == ""


def test_a_process_that_ended_before_it_was_recorded_is_left_out(tmp_path: Path) -> None:
    """Its id may belong to any program when the next `helix up` looks for what this one left."""
    children = [
        ServiceChild(name, module, environment=dict(os.environ), log=tmp_path / name)
        for name, module in (("kg-1", "there_is_no_such_module"), ("ingest-1", "http.server"))
    ]
    try:
        for child in children:
            child.start()
        for _ in range(500):
            if not start_time(children[0].pid):
                break
            time.sleep(0.01)
        pids, times = processes_of(children)
        assert pids == {"ingest-1": children[1].pid}
        assert times == {"ingest-1": start_time(children[1].pid)}
        assert leftovers(RunRecord("nats://127.0.0.1:5", "", pids=pids, start_times=times)) == pids
    finally:
        for child in children:
            child.kill()
