#!/usr/bin/env python3
"""The table of every setting, made from the settings classes; `ops/runbook.md` holds it, a test compares.

python ops/settings_table.py   prints the table
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from pydantic_core import PydanticUndefined

from helix_consolidation.settings import ConsolidationSettings
from helix_doc2query.settings import Doc2querySettings
from helix_ingest.settings import IngestSettings
from helix_kg.settings import KgSettings
from helix_query.settings import QuerySettings
from helix_shared.settings import ServiceSettings

SERVICES: Final[tuple[type[ServiceSettings], ...]] = (
    IngestSettings, Doc2querySettings, KgSettings, ConsolidationSettings, QuerySettings,
)  # fmt: skip
COMMAND: Final = {
    "HELIX_HOME": ("~/.helix", "folder of everything Helix keeps on this machine"),
    "HELIX_NATS_URL": ("what `helix up` wrote", "NATS the command talks to"),
    "HELIX_RECALL_ADDRESS": ("what `helix up` wrote", "query service the command talks to"),
    "HELIX_TENANT": ("", "tenant of publish, import and recall"),
}


def rows() -> Iterator[tuple[str, str, str]]:
    """Variable, default, meaning."""
    for name, (default, meaning) in COMMAND.items():
        yield name, default, meaning
    for settings in SERVICES:
        prefix = str(settings.model_config.get("env_prefix", ""))
        for name, field in settings.model_fields.items():
            known = field.default is not PydanticUndefined and field.default is not None
            yield f"{prefix}{name}".upper(), str(field.default) if known else "", field.description or ""


def table() -> str:
    """The table in Markdown."""
    lines = ["| variable | default | what |", "|---|---|---|"]
    lines += [f"| `{name}` | {default} | {meaning} |" for name, default, meaning in rows()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
