"""Runs the programs of the pages against a Helix of its own in a temporary folder.

They run in the root of the repository, in the order of the navigation. Ports are free ones: the addresses of
this machine in the pages are replaced by those of the running Helix, and variables name them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_cli.stack.stack import Stack
from helix_docs.programs import Program
from helix_docs.sources import ROOT

SECONDS: Final = 600.0
"""Of one program."""
PATIENT: Final = "60"
"""Seconds of a call in the programs, so that they also run on a busy machine."""
COMMANDS: Final = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
GATEWAY: Final = {"HELIX_GATEWAY_REQUEST_SECONDS": PATIENT, "HELIX_GATEWAY_WAIT_SECONDS": "120"}
FRAMEWORKS: Final = "frameworks"
"""What a program needs that runs with the agent frameworks, in the environment of `make adapters`."""
FRAMEWORKS_PYTHON: Final = ROOT / ".venv-adapters/bin/python"
_MOVING: Final = re.compile(r"\d{4}-\d{2}-\d{2}|\d+(\.\d+)?")
_DEBIAN_GO: Final = Path("/usr/share/gocode")
"""Where Debian installs libraries for Go; with them no module has to be downloaded."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program: `problem` is empty where it did what the page says."""

    program: Program
    problem: str = ""
    not_run: str = ""

    def __str__(self) -> str:
        """One line, and the problem below it."""
        if self.not_run:
            return f"not run  {self.program.name} ({self.not_run})"
        return (
            f"failed   {self.program.name}\n{self.problem}"
            if self.problem
            else f"ran      {self.program.name}"
        )


def run_all(wanted: Sequence[Program], home: Path, models: Path) -> Iterator[Outcome]:
    """Start Helix, run the programs in their order, stop it."""
    with Stack(
        home,
        nats_port=0,
        query_port=0,
        gateway_port=0,
        copies={"gateway": 1},
        models=models,
        environment=GATEWAY,
    ) as stack:
        stack.wait_ready()
        places = f'nats_url="{stack.nats_url}", query_address="{stack.query_address}"'
        addresses = {
            "nats://127.0.0.1:4222": stack.nats_url,
            "127.0.0.1:7461": stack.query_address,
            "127.0.0.1:7464": stack.gateway_url.removeprefix("http://"),
            'Helix("127.0.0.1"': f"Helix(deadline_seconds={PATIENT}, {places}",
        }
        variables = {
            "HELIX_HOME": str(home),
            "HELIX_NATS_URL": stack.nats_url,
            "HELIX_RECALL_ADDRESS": stack.query_address,
            "HELIX_MCP_URL": stack.gateway_url,
            "CHAT_DEADLINE_SECONDS": PATIENT,
        }
        for program in wanted:
            yield run(program, addresses, variables)


def run(program: Program, addresses: Mapping[str, str], variables: Mapping[str, str]) -> Outcome:
    """Run one program and compare what it prints."""
    missing = [reason for reason in map(_missing, program.needs) if reason]
    if missing:
        return Outcome(program, not_run=", ".join(missing))
    documented = "|".join(map(re.escape, addresses)) or "(?!)"
    text = re.sub(documented, lambda match: addresses[match[0]], program.text)
    try:
        done = subprocess.run(  # noqa: S603  our own pages
            [*_command(program), text],
            cwd=ROOT,
            env=_environment(variables),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(program, f"it did not end within {SECONDS:.0f} s")
    if done.returncode:
        return Outcome(program, f"it ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return Outcome(program, _difference(program.prints, done.stdout))


def _difference(expected: str | None, printed: str) -> str:
    """Empty where each expected line was printed, in order; numbers may differ."""
    if expected is None:
        return ""
    rest = iter(_lines(printed))
    for line in _lines(expected):
        if not any(line == other for other in rest):
            return f"the page says it prints\n{expected}it printed\n{printed}"
    return ""


def _lines(text: str) -> list[str]:
    """Without what differs from run to run, and without spaces at the end."""
    return [line.rstrip() for line in _MOVING.sub("#", text).splitlines()]


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    found = {**os.environ, "PATH": path, "COLUMNS": "120", **variables}
    if _has_debian_library():
        found |= {"GO111MODULE": "off", "GOPATH": str(_DEBIAN_GO)}
    return found


def _command(program: Program) -> list[str]:
    """What runs a program; with the frameworks it has the package `helix_memory` alone, as a user has."""
    if FRAMEWORKS not in program.needs:
        return COMMANDS[program.language]
    return ["env", f"PYTHONPATH={ROOT / 'proto'}", str(FRAMEWORKS_PYTHON), "-c"]


def _missing(program: str) -> str:
    """Why what needs this program cannot be run; empty where it can."""
    if program == FRAMEWORKS:
        return "" if FRAMEWORKS_PYTHON.exists() else "the frameworks are not installed: make adapters-setup"
    if shutil.which(program) is None:
        return f"{program} is not installed"
    has_library = _has_debian_library() or (ROOT / "docs/examples/go/go.mod").exists()
    if program == "go" and not has_library:
        return "its library github.com/nats-io/nats.go is not installed"
    return ""


def _has_debian_library() -> bool:
    return (_DEBIAN_GO / "src/github.com/nats-io/nats.go").is_dir()
