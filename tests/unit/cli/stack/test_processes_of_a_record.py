"""Processes that a record of a run names."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import RunRecord, running_record, start_time, write_record


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
