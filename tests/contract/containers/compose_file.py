"""The content of compose.yaml, and what the tests of it ask."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CONSUMERS = ("ingest", "doc2query", "kg", "extract", "consolidation", "query", "deep", "gateway")
GRPC = ("query", "deep")
ONE_SHOT = ("provision", "provision-extract", "models")
OPTIONAL = {"provision-extract", "extract", "deep", "gateway"}


def mounts(name: str) -> dict[str, dict[str, Any]]:
    """Mounts of a service by their source."""
    return {mount["source"]: mount for mount in SERVICES[name].get("volumes", [])}


def default(name: str, value: str) -> str:
    """The value where the shell sets none: compose replaces `${NAME:-default}`."""
    taken = re.fullmatch(r"\$\{(\w+):-(.*)\}", value)
    if taken is None:
        assert "$" not in value
        return value
    assert taken[1] == name
    return taken[2]
