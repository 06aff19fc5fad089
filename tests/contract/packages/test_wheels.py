"""That the wheel of each member works with nothing else installed.

Every member is built as a wheel and installed into an empty environment: the members it needs from the
folder of wheels, other packages as links to those installed here that its part of requirements.lock names.
No index is asked.
"""

import functools
import subprocess
import sys
import venv
import zipfile
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from .members import LOCK, MEMBERS, ROOT, locked

SITE = Path(str(metadata.distribution("pydantic").locate_file("")))
INSTALLED_ALWAYS = ("helix-memory", "helix-memory-consolidation")
"""A library and a service; the others are installed by `make faults`."""
PACKAGES = {name: next(folder.glob("*/py.typed")).parent for name, folder in MEMBERS.items()}
FRAMEWORKS = (
    "helix_memory.adapters.google_adk",
    "helix_memory.adapters.langchain",
    "helix_memory.adapters.langgraph",
    "helix_memory.adapters.llama_index",
)
"""Modules of helix-memory that need a framework, each with an extra of its own."""
EXTRAS = {
    "helix-memory": (
        *FRAMEWORKS,
        "helix_memory.adapters.record_store",
        "helix_memory.client",
        "helix_memory.transport.batch",
        "helix_memory.transport.connection",
        "helix_memory.transport.dead_letters",
        "helix_memory.transport.delivered",
        "helix_memory.transport.letter_requests",
        "helix_memory.transport.publisher",
    ),
    "helix-memory-shared": (
        "helix_shared.about",
        "helix_shared.artifacts",
        "helix_shared.broker",
        "helix_shared.edges",
        "helix_shared.encoders",
        "helix_shared.endpoint",
        "helix_shared.pairs.verdicts",
        "helix_shared.rpc",
        "helix_shared.sources",
    ),
    "helix-memory-consolidation": ("helix_consolidation.uploading.upload_thread",),
    "helix-memory-doc2query": ("helix_doc2query.t5.beam", "helix_doc2query.t5.question_model"),
    "helix-memory-lab": ("helix_lab.peers.engines",),
}
"""Modules of a member that need one of its extras."""
IMPORT_ALL = """
import importlib, pkgutil, sys
name, *skipped = sys.argv[1:]
folder = importlib.import_module(name).__path__
for module in pkgutil.walk_packages(folder, name + "."):
    if not any((module.name + ".").startswith(package + ".") for package in skipped):
        importlib.import_module(module.name)
"""
INSTALLED = {canonicalize_name(distribution.name) for distribution in metadata.distributions()}


@functools.cache
def _top_levels(name: str) -> set[str]:
    files = metadata.distribution(name).files or []
    return {file.parts[0] for file in files if file.parts[0] not in {"..", "__pycache__"}}


def _link(names: list[str], folder: Path) -> None:
    """Link the installed distributions into `folder`."""
    owners = Counter(top for name in LOCK.keys() & INSTALLED for top in _top_levels(name))
    for name in names:
        pinned = LOCK[name].lines[0].split("==")[1].split()[0]
        assert metadata.version(name) == pinned, f"{name} is not the version of the lock; run `make setup`"
        for top in _top_levels(name):
            if owners[top] == 1:
                (folder / top).symlink_to(SITE / top)
        for file in metadata.distribution(name).files or []:
            if owners[file.parts[0]] > 1:  # a namespace package: link file by file
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).symlink_to(SITE / file)


def _tool(*arguments: str | Path, folder: Path = ROOT) -> None:
    """Run a build tool of the lock."""
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel of every member."""
    folder = tmp_path_factory.mktemp("wheels")
    for member in MEMBERS.values():
        _tool("hatchling", "build", "-t", "wheel", "-d", folder, folder=member)
    return folder


def _environment(member: str, wheels: Path, folder: Path) -> Path:
    """The interpreter of a new environment in which only `member` and what it needs is installed."""
    venv.create(folder, symlinks=True)
    needed, packages = locked(member)
    _link(packages, folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages")
    python = folder / "bin/python"
    options = ("--offline", "--no-config", "--no-index", "--no-deps", "--find-links", wheels)
    _tool("uv", "pip", "install", "--python", python, *options, *needed)
    return python


def _run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an environment's interpreter, isolated from this one's variables and folder."""
    command = [python, "-I", "-B", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env={}, cwd="/")


@pytest.mark.parametrize("member", MEMBERS)
def test_a_wheel_holds_every_file_of_its_package(member: str, wheels: Path) -> None:
    """Code, ranking profiles, tables, stylesheets, the .proto file and py.typed alike."""
    (wheel,) = wheels.glob(f"{member.replace('-', '_')}-0.*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", PACKAGES[member]],
        cwd=MEMBERS[member], capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert held == {line for line in listed.stdout.splitlines() if (MEMBERS[member] / line).exists()}
    assert f"{PACKAGES[member].name}/py.typed" in held


@pytest.mark.parametrize(
    "member",
    [one if one in INSTALLED_ALWAYS else pytest.param(one, marks=pytest.mark.long) for one in MEMBERS],
)
def test_a_wheel_works_with_nothing_installed_but_what_it_declares(
    member: str, wheels: Path, tmp_path: Path
) -> None:
    """Every module is imported, so a member's pyproject.toml names all that it imports."""
    python = _environment(member, wheels, tmp_path)
    imported = _run(python, "-c", IMPORT_ALL, PACKAGES[member].name, *EXTRAS.get(member, ()))
    assert imported.returncode == 0, imported.stderr[-2_000:]


def test_the_installed_program_runs(wheels: Path, tmp_path: Path) -> None:
    """`helix` is on the path of its environment, and its version is that of the wheel."""
    python = _environment("helix-memory-cli", wheels, tmp_path)
    done = subprocess.run([python.parent / "helix", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "helix 0.1.0\n"


def test_an_undeclared_import_would_be_noticed(wheels: Path, tmp_path: Path) -> None:
    """The environment really lacks what a member does not declare."""
    python = _environment("helix-memory", wheels, tmp_path)
    assert "No module named 'numpy'" in _run(python, "-c", "import helix_memory.events, numpy").stderr


def test_the_client_works_with_the_extra_that_it_names(wheels: Path, tmp_path: Path) -> None:
    """An environment with the extra [client] and nothing else imports every module."""
    python = _environment("helix-memory", wheels, tmp_path)
    _link(["nats-py"], tmp_path / "lib" / f"python3.{sys.version_info.minor}" / "site-packages")
    imported = _run(python, "-c", IMPORT_ALL, "helix_memory", *FRAMEWORKS)
    assert imported.returncode == 0, imported.stderr[-2_000:]
    for module in FRAMEWORKS:
        extra = module.rpartition(".")[2].replace("_", "-")
        assert f"pip install 'helix-memory[{extra}]'" in _run(python, "-c", f"import {module}").stderr
