"""What the query service imports."""

import subprocess
import sys

FORBIDDEN = ("nats", "faststream", "openai", "anthropic", "litellm", "networkx", "scipy", "matplotlib")
"""Clients of a broker or an LLM, and packages that only exports and figures need."""


def test_the_service_imports_no_forbidden_package() -> None:
    """All modules that the service imports, listed by another process."""
    listing = "import sys, helix_query.app; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = {name.split(".")[0] for name in ended.stdout.split()}
    assert "lancedb" in loaded
    assert loaded.isdisjoint(FORBIDDEN)


def test_importing_the_entry_point_loads_no_engine() -> None:
    """BLAS threads are set before the import of numpy, so no module may import it earlier."""
    listing = "import sys, helix_query.__main__; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", listing], capture_output=True, text=True, timeout=60, check=True
    )
    assert "numpy" not in ended.stdout.split()
