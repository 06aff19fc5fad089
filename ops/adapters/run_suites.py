#!/usr/bin/env python3
"""`make adapters`: the suites of the agent frameworks against a Helix of their own, which is removed again.

`run_suites.py --python .venv-adapters/bin/python [arguments of pytest]`. The interpreter has the frameworks;
they see Helix as a user's program does, over its addresses and through the package `helix_memory` alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from helix_cli.stack.stack import Stack
from helix_shared.settings import helix_home
from helix_shared.telemetry.logs import configure_logging

SUITES: Final = Path(__file__).parent
ROOT: Final = SUITES.parents[1]


def main() -> int:
    """The exit status of pytest."""
    options = argparse.ArgumentParser()
    options.add_argument("--python", type=Path, required=True)
    given, arguments = options.parse_known_args()
    configure_logging(log_format="console", level="CRITICAL", service="adapters")
    with tempfile.TemporaryDirectory(prefix="helix-adapters-") as home:
        stack = Stack(Path(home), nats_port=0, query_port=0, models=helix_home() / "models")
        stack.start()
        try:
            stack.wait_ready()
            return run_suites(given.python, arguments, stack)
        finally:
            stack.stop()


def run_suites(python: Path, arguments: list[str], stack: Stack) -> int:
    """Run pytest with another interpreter."""
    sources = python.absolute().parents[1] / "sources" / "tests"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "proto"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ADAPTERS_NATS": stack.nats_url,
        "ADAPTERS_QUERY": stack.query_address,
        "ADAPTERS_LANGGRAPH_TESTS": str(sources),
    }
    command = [str(python.absolute()), "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=SUITES, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
