"""Helpers of the tests of the stack."""

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.transport.connection import connect
from helix_shared.broker.provisioning.provision import provision

INGEST_FAULT = """
import os, pathlib, sys

if "helix_ingest" in getattr(sys, "orig_argv", []):
    from helix_ingest import memories_builder
    from helix_shared.errors import PermanentError

    sound = memories_builder.MemoriesBuilder.build

    def build(self, logged, earlier):
        if "mercury" in getattr(logged.event, "text", "") and pathlib.Path(os.environ["FAULT"]).exists():
            raise PermanentError("text: this release cannot read mercury")
        return sound(self, logged, earlier)

    memories_builder.MemoriesBuilder.build = build
"""
"""A release of ingest with a defect, while a file exists: what Python imports before everything else."""


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)  # most conditions are commands, which take processor time from what is waited for


def run(home: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command on this home."""
    runner = CliRunner(env={"COLUMNS": "140", "HELIX_TENANT": "acme", "HELIX_HOME": str(home)})
    result = runner.invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def shorten_ack_wait(url: str) -> None:
    """Messages of a worker that ended are redelivered after seconds instead of a minute."""

    async def work() -> None:
        client = await connect(url, name="test")
        await provision(client.jetstream(), ack_wait_seconds=4)
        await client.close()

    asyncio.run(work())


def asked(url: str) -> int:
    """Status of a GET; 0 where nothing answers."""
    try:
        with urllib.request.urlopen(url, timeout=1) as reply:  # noqa: S310  an address of this test
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def ingest_fault(folder: Path) -> Path:
    """The file that switches the defect of ingest on, in a folder to put on the path of its process."""
    (folder / "sitecustomize.py").write_text(INGEST_FAULT)
    return folder / "on"
