import subprocess
import sys

FORBIDDEN = ("nats", "faststream", "openai", "anthropic", "litellm")
"""A broker or a way to an LLM; the query path holds neither."""


def test_the_service_holds_no_broker_and_no_way_to_an_llm() -> None:
    """Everything the service imports, in a process of its own."""
    listing = "import sys, helix_query.app; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = {name.split(".")[0] for name in ended.stdout.split()}
    assert "lancedb" in loaded
    assert loaded.isdisjoint(FORBIDDEN)


def test_importing_the_entry_point_loads_no_engine() -> None:
    """The threads of BLAS are set before numpy is imported, so nothing may import it earlier."""
    listing = "import sys, helix_query.__main__; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, timeout=60, check=True
    )
    assert "numpy" not in ended.stdout.split()
