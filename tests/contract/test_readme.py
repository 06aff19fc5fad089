import ast
import json
import os
import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from helix_cli.commands.common import options
from helix_cli.commands.group import load_command
from helix_memory import events, subjects

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
RUNBOOK = (ROOT / "ops/runbook.md").read_text()
MARKS = ["<!-- first recall: commands -->", "<!-- first recall: output -->", "<!-- first recall: end -->"]
COMMAND = re.compile(r"`((?:helix|docker compose|make) [^`\n]+)`")


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _commands(program: str) -> list[str]:
    """Every command of a program in the README's shell blocks and in the running text of both documents."""
    lines = [
        part.strip()
        for block in _blocks(README, "sh")
        for line in block.splitlines()
        for part in line.split("&&")
    ]
    lines += COMMAND.findall(README) + COMMAND.findall(RUNBOOK)
    return [line.split("  #")[0].split(" | ")[0].strip() for line in lines if line.startswith(f"{program} ")]


def _helix_options(words: list[str]) -> dict[str, set[str]]:
    """The options of the command that `words` name."""
    command: Any = load_command(words[0])
    for word in words[1:]:
        if not hasattr(command, "commands"):
            break
        inside = command.get_command(None, word)
        assert inside is not None, f"helix has no command {word!r}"
        command = inside
    return {command.name: {option for parameter in command.params for option in parameter.opts}}


def test_first_screen_says_starts_and_shows_one_recall() -> None:
    """One sentence, the flow in one line, start, one recall with its output; no badge, no feature list."""
    screen = README.splitlines()[:28]
    positions = [screen.index(mark) for mark in MARKS]
    assert positions == sorted(positions)
    assert screen[0] == "# Helix"
    assert screen[2].endswith(".")
    assert "Recall (gRPC)" in screen[4]
    assert not any("badge" in line or "![" in line for line in README.splitlines())


def test_first_recall_is_machine_findable() -> None:
    """Two commands and what the second prints; the end-to-end test runs them."""
    commands, output = (README.split(a)[1].split(b)[0] for a, b in pairwise(MARKS))
    assert [line.split()[:2] for line in _blocks(commands.lstrip("\n"), "sh")[0].splitlines()] == [
        ["helix", "publish"],
        ["helix", "recall"],
    ]
    printed = _blocks(output.lstrip("\n"), "text")[0].splitlines()
    assert printed[0].split() == ["rank", "relevance", "type", "date", "memory"]
    assert "We chose Postgres" in printed[1]


@pytest.mark.parametrize("command", _commands("helix"))
def test_every_helix_command_exists_with_its_options(command: str) -> None:
    """Every command in a document exists."""
    words = shlex.split(command)[1:]
    ((name, known),) = _helix_options([word for word in words if not word.startswith("-")]).items()
    used = {word.split("=")[0] for word in words if word.startswith("--")}
    assert used <= known, f"helix {name}"


@pytest.mark.parametrize("command", _commands("make"))
def test_every_make_target_exists(command: str) -> None:
    """Every make target in a document exists."""
    target = command.split()[1]
    asked = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize("command", _commands("docker"))
def test_every_compose_command_names_a_profile_and_services_that_exist(command: str) -> None:
    """Every compose profile and service in a document exists."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    profiles = {profile for service in services.values() for profile in service.get("profiles", [])}
    assert set(re.findall(r"--profile (\S+)", command)) <= profiles
    assert set(re.findall(r"--scale (\w+)=", command)) <= services.keys()


def test_event_of_the_nats_command_is_valid_and_on_its_subject() -> None:
    """Events in the README are valid."""
    (line,) = [line for line in README.splitlines() if line.startswith("nats req ")]
    _, _, subject, _, header, body = shlex.split(line)
    event = events.parse_event(body.encode())
    assert subject == events.subject_of(event)
    assert header == f"{subjects.MSG_ID_HEADER}:{subjects.message_id(event.tenant_id, event.event_id)}"


def test_request_of_the_grpcurl_command_fits_the_contract() -> None:
    """Service, method and fields are the ones of the contract."""
    from google.protobuf import json_format  # noqa: PLC0415  only here

    from helix_memory.recall.v1 import recall_pb2  # noqa: PLC0415  only here

    (line,) = [line for line in README.splitlines() if line.startswith("grpcurl ")]
    *_, body, _, method = shlex.split(line)
    json_format.Parse(body, recall_pb2.RecallRequest())
    service, name = method.split("/")
    described = recall_pb2.DESCRIPTOR.services_by_name[service.removeprefix("helix.recall.v1.")]
    assert name in described.methods_by_name
    assert json.loads(body)["scope"]["tenant_id"] == "acme"


@pytest.mark.parametrize(
    ("program", "origin"), [("nats", "nats-io/natscli"), ("grpcurl", "fullstorydev/grpcurl")]
)
def test_a_program_that_setup_does_not_install_is_said_to_come_from_elsewhere(
    program: str, origin: str
) -> None:
    """The README names what a fresh machine needs for each line."""
    line = README.index(f"\n{program} ")
    assert origin in README[:line]


def test_first_program_of_the_readme_is_eight_lines_that_import() -> None:
    """One import is the whole client that a program needs; the end-to-end test runs it."""
    (block,) = _blocks(README, "python")
    assert len([line for line in block.splitlines() if line]) <= 8
    imports = [node for node in ast.parse(block).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(imports) == 1
    exec(compile(ast.Module(imports, []), "README.md", "exec"), {})  # noqa: S102  our own README


def test_every_link_leads_to_a_file() -> None:
    """Every link leads to a file."""
    for text, folder in ((README, ROOT), (RUNBOOK, ROOT / "ops")):
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (folder / target).exists(), target


def test_continuous_check_runs_what_the_readme_names() -> None:
    """The README names one test command."""
    script = ROOT / ".ci/run"
    assert script.stat().st_mode & 0o111
    lines = script.read_text().splitlines()
    assert "set -euo pipefail" in lines
    assert {"make lint", "make test"} <= set(lines)


def test_make_and_helix_up_use_one_home() -> None:
    """`make setup` builds the model where `helix up` finds it, so that it is built once."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/somewhere"}
    command = ["make", "--silent", "--eval", "print-home:;@echo $(HELIX_HOME)", "print-home"]
    printed = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    ).stdout.strip()
    assert printed == "/somewhere/.helix"
    assert Path("~/.helix") == options.DEFAULT_HOME
