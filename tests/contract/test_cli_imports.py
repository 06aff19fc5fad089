"""What the commands import: `helix recall` and `helix publish` start without any engine."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from helix_cli.commands.group import COMMANDS

ROOT = Path(__file__).parents[2]
ENGINES = {
    "faststream", "lancedb", "matplotlib", "networkx", "numpy", "onnx", "onnxruntime", "pyarrow", "scipy",
    "tantivy", "tokenizers",
}  # fmt: skip
RECALL = ("helix_cli.commands.recall", "helix_memory.transport.recall_client")
PUBLISH = ("helix_cli.commands.publish",)


def imported(code: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter has imported after `code`."""
    program = f"{code}\nimport json, sys\nprint(json.dumps([m.partition('.')[0] for m in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("modules", [RECALL, PUBLISH], ids=["recall", "publish"])
def test_recall_and_publish_import_no_engine(modules: tuple[str, ...]) -> None:
    """Importing LanceDB alone takes longer than a recall."""
    assert imported(f"import helix_cli.__main__, {', '.join(modules)}") & ENGINES == set()


def test_no_command_imports_an_engine_before_it_runs() -> None:
    """So `--help`, a completion and a wrong option answer at once, whatever the command does."""
    modules = ", ".join(f"helix_cli.commands.{entry.module}" for entry in COMMANDS.values())
    assert imported(f"import helix_cli.__main__, {modules}") & ENGINES == set()


def test_recall_imports_no_nats_client() -> None:
    """It asks NATS only while the query service has no generation."""
    assert imported(f"import helix_cli.__main__, {', '.join(RECALL)}") & {"nats", "structlog"} == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["recall", "x", "--tenant", "acme", "--top-k", "5", "--mode", "dense"],
        ["memory", "ls", "--tenant", "acme", "--type", "decision", "--limit", "5", "--order", "oldest"],
        ["memory", "show", "0" * 32, "--tenant", "acme"],
        ["session", "ls", "--tenant", "acme"],
        ["why-not", "0" * 32, "x", "--tenant", "acme", "--json"],
        ["profile", "--tenant", "acme", "--user", "ana"],
    ],
)
def test_commands_that_read_run_without_pydantic(arguments: list[str], tmp_path: Path) -> None:
    """Its import takes a third of their processor time; options that are plain values need no conversion."""
    code = f"import sys\nsys.argv = ['helix', *{[*arguments, '--home', str(tmp_path)]}]"
    code += "\nfrom helix_cli.__main__ import main\ntry:\n    main()"
    code += "\nexcept SystemExit as end:\n    assert end.code == 3"
    assert "grpc" in (modules := imported(code))
    assert modules & {"pydantic", "nats", "structlog"} == set()


def test_a_connection_to_nats_imports_no_structlog_before_a_line_is_logged() -> None:
    """It takes a fifth of the processor time of a command that publishes."""
    code = "from helix_cli.output import logs\nlogs.set_log_level(verbose=False)\nlogs.configure_logs()"
    assert "structlog" not in imported(code)
    logged = "from helix_shared.telemetry.logs import logger\nlogger('x').warning('a line that nobody sees')"
    assert "structlog" in imported(f"{code}\n{logged}")


def test_commands_that_list_import_neither_nats_nor_events() -> None:
    """Those of `helix memory` that change memories are imported when one of them runs."""
    code = "import sys, helix_cli.__main__, helix_cli.commands.memory.app, helix_cli.commands.session"
    loaded = "assert not [m for m in sys.modules if m.startswith('helix_memory.events')]"
    assert "nats" not in imported(f"{code}\n{loaded}")


@pytest.mark.parametrize("command", ["publish", "operating.status"])
def test_commands_that_talk_to_nats_import_no_metrics(command: str) -> None:
    """The Prometheus client and structlog take a tenth of a second to import."""
    assert imported(f"import helix_cli.commands.{command}") & {"structlog", "prometheus_client"} == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_overview_imports_no_command(arguments: list[str]) -> None:
    """Its lines come from the table of commands."""
    code = f"import helix_cli.__main__ as m\ntry:\n    m.app({arguments})\nexcept SystemExit:\n    import sys"
    modules = imported(f"{code}\nassert not [m for m in sys.modules if m.startswith('helix_cli.stack')]")
    assert modules & (ENGINES | {"grpc", "nats"}) == set()


def test_every_row_of_the_table_is_a_module_with_an_app() -> None:
    """A row without a module would fail only when its command is called."""
    folder = ROOT / "services/cli/helix_cli/commands"
    files = [file for file in folder.rglob("*.py") if "\napp = typer.Typer(" in file.read_text()]
    with_app = {".".join(file.relative_to(folder).with_suffix("").parts) for file in files}
    assert with_app == {entry.module for entry in COMMANDS.values()}


def test_version_is_that_of_every_member() -> None:
    """The members are released together."""
    files = [ROOT / "proto", ROOT / "shared", *(ROOT / "services").iterdir(), ROOT / "ops/lab"]
    versions = {tomllib.loads((f / "pyproject.toml").read_text())["project"]["version"] for f in files}
    done = subprocess.run(
        [sys.executable, "-m", "helix_cli", "--version"], capture_output=True, text=True, check=True
    )
    assert [f"helix {version}\n" for version in versions] == [done.stdout]


def test_doctor_imports_no_engine_where_nothing_was_published(tmp_path: Path) -> None:
    """It opens the stores of a generation, and there is none."""
    run = f"m.app(['doctor', '--home', {str(tmp_path)!r}])"
    code = "import helix_cli.__main__ as m\nfrom contextlib import redirect_stdout, suppress\nimport io"
    code += f"\nwith suppress(SystemExit), redirect_stdout(io.StringIO()):\n    {run}"
    modules = imported(f"{code}\nassert 'helix_cli.doctor.generation_checks' in __import__('sys').modules")
    assert modules & ENGINES == set()
