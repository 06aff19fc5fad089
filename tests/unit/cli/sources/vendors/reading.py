"""Reading an export in a test: its items by kind, and the events that a tenant would get."""

import json
from pathlib import Path
from typing import Any

from helix_cli.sources.discover import discover
from helix_cli.sources.documents.formats import Format
from helix_cli.sources.read import read_source
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.source_event import Refusal, SourceEvent

SCOPE = SourceScope("acme")


def write(folder: Path, name: str, *values: Any) -> Path:
    """A file with a JSON document, or with several as JSON lines; texts are written as they are."""
    path = folder / name
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def items(path: Path, *, scope: SourceScope = SCOPE, named: Format | None = None) -> list[Item]:
    """Every item of a file in the format that is detected, or in the named one."""
    (source,) = discover([path], source_format=named).sources
    return list(read_source(source, scope))


def events(path: Path, *, scope: SourceScope = SCOPE, named: Format | None = None) -> list[Any]:
    """Every event of a file that has nothing else."""
    found = items(path, scope=scope, named=named)
    assert [item for item in found if isinstance(item, Refusal)] == []
    return [item.event for item in found if isinstance(item, SourceEvent)]


def skipped(found: list[Item]) -> list[str]:
    """Why parts of a file become no events."""
    return [item.why for item in found if isinstance(item, SkippedPart)]


def refused(found: list[Item]) -> list[str]:
    """The refusals of a file, without the path of its folder."""
    return [
        f"{item.where.rsplit('/', 1)[-1]}: {item.field}: {item.reason}"
        for item in found
        if isinstance(item, Refusal)
    ]
