#!/usr/bin/env python3
"""The table of every setting, from the settings classes; `ops/runbook.md` has it, and a test compares them.

python ops/settings_table.py   prints the table
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from helix_consolidation.forwarder.settings import ForwarderSettings
from helix_consolidation.settings import ConsolidationSettings
from helix_deep.settings import DeepSettings
from helix_doc2query.settings import Doc2querySettings
from helix_extract.settings import ExtractSettings
from helix_gateway.settings import GatewaySettings
from helix_ingest.settings import IngestSettings
from helix_kg.settings import KgSettings
from helix_query.settings import QuerySettings
from helix_shared.settings import ServiceSettings, helix_home

SERVICES: Final[tuple[type[ServiceSettings], ...]] = (
    IngestSettings, Doc2querySettings, KgSettings, ConsolidationSettings, ForwarderSettings, QuerySettings,
    ExtractSettings, DeepSettings, GatewaySettings,
)  # fmt: skip
COMMAND: Final = {
    "HELIX_HOME": ("~/.helix", "folder of everything Helix keeps on this machine"),
    "HELIX_NATS_URL": ("the address in `run/up.json` of the home", "NATS the command talks to"),
    "HELIX_RECALL_ADDRESS": (
        "the address in `run/up.json` of the home",
        "query service the command talks to",
    ),
    "HELIX_RECALL_DEEP_ADDRESS": (
        "the address in `run/up.json` of the home",
        "deep service the command talks to",
    ),
    "HELIX_TOKEN_FILE": (
        "that of the operator, where the home is secured",
        "file with the token of the command, mode 0600",
    ),
    "HELIX_TLS_CA": ("that of the home", "CA (PEM) of the query and the deep service: connect with TLS"),
    "HELIX_TLS_CERT": ("", "own certificate (PEM), where the service wants one"),
    "HELIX_TLS_KEY": ("", "key of that certificate (PEM), mode 0600"),
    "HELIX_NATS_CREDENTIALS": (
        "that of the operator, where the home is secured",
        "file with the user of NATS, mode 0600",
    ),
    "HELIX_NATS_CA": ("that of the home", "CA (PEM) of NATS: connect with TLS, handshake first"),
    "HELIX_MCP_URL": (
        "the address in `run/up.json` of the home",
        "gateway that `helix mcp` and the examples talk to",
    ),
    "HELIX_TENANT": (
        "",
        "tenant of each command with `--tenant`, also of erase; not of export, dlq, audit and security",
    ),
    "HELIX_OTLP_ENDPOINT": ("", "of every service: http://host:port, to which traces go as OTLP over gRPC"),
}


def rows() -> Iterator[tuple[str, str, str]]:
    """Variable, default, meaning."""
    for name, (default, meaning) in COMMAND.items():
        yield name, default, meaning
    for settings in SERVICES:
        prefix = str(settings.model_config.get("env_prefix", ""))
        for name, field in settings.model_fields.items():
            yield f"{prefix}{name}".upper(), _default(field), field.description or ""


def _default(field: FieldInfo) -> str:
    """A folder below the home is shown as such; a default that depends on the machine is left out."""
    if field.default_factory is not None:
        value = field.get_default(call_default_factory=True, validated_data={})
        is_folder = isinstance(value, Path) and value.is_relative_to(helix_home())
        return f"HELIX_HOME/{value.relative_to(helix_home())}" if is_folder else ""
    return "" if field.default is None or field.default is PydanticUndefined else str(field.default)


def table() -> str:
    """The table in Markdown."""
    lines = ["| variable | default | what |", "|---|---|---|"]
    lines += [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in rows()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
