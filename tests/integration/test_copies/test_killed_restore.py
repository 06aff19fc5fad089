"""A restore that is killed leaves texts in the clear, until the next command of the home."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import ALONE_RECORD, read_record, start_time
from helix_memory.transport.polling import poll
from tests.folder_contents import files_with

pytestmark = pytest.mark.integration

BACKUP = Path(__file__).parents[2] / "golden/backups/0.1.0"
WORD = "spare key under the blue pot"
WAIT_SECONDS = 60.0


def stopped_restore(home: HomeFolder) -> subprocess.Popen[bytes]:
    """A restore that stands still where it has written the word and has not ended."""
    for _ in range(20):
        command = [sys.executable, "-m", "helix_cli", "restore", str(BACKUP), "--home", str(home.root)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in poll(WAIT_SECONDS, every_seconds=0.01):
            if process.poll() is not None or files_with(home.restoring, WORD):
                break
        process.send_signal(signal.SIGSTOP)
        if process.poll() is None and files_with(home.restoring, WORD):
            return process
        process.kill()
        process.wait()
        home.data.resolve().rename(home.root / f"ended-{process.pid}")
    raise AssertionError("every restore had ended before it was stopped")


def said(home: HomeFolder, *arguments: str) -> str:
    """What a command of the home says, whether or not it succeeds."""
    return CliRunner().invoke(app, [*arguments, "--home", str(home.root)]).output


@pytest.mark.parametrize("is_linked", [False, True])
def test_the_next_command_removes_what_a_killed_restore_left(tmp_path: Path, *, is_linked: bool) -> None:
    """Its NATS server ends, too; while the restore runs, no command touches either."""
    home = HomeFolder.at(tmp_path / "home")
    if is_linked:
        home.root.mkdir()
        (tmp_path / "disk").mkdir()
        home.data.symlink_to(tmp_path / "disk" / "data")
    process = stopped_restore(home)
    record = read_record(home, name=ALONE_RECORD)
    assert record is not None
    said(home, "status")
    assert files_with(home.restoring, WORD)
    process.kill()
    process.wait()
    assert files_with(home.restoring, WORD), "the control: a killed restore leaves the word"
    assert start_time(record.pids["nats"])
    assert "left over" in said(home, "status")
    assert not home.restoring.exists()
    assert not files_with(tmp_path, WORD)
    assert not start_time(record.pids["nats"])
    assert "left over" not in said(home, "status")
