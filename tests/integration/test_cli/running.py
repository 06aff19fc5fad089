"""Helpers of the tests of the stack."""

import asyncio
from pathlib import Path

from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.transport.connection import connect
from helix_shared.broker.streams import provision


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
