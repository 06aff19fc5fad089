#!/usr/bin/env python3
"""The table of every metric, from the code; `ops/runbook.md` has it, and a test compares them.

python ops/metrics_table.py   prints the table
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.metrics import MetricWrapperBase

MODULES: Final = {
    "helix_shared.telemetry.metrics": "all",
    "helix_shared.endpoint.metrics": "extract, deep",
    "helix_consolidation.metrics": "consolidation",
    "helix_query.metrics": "query",
    "helix_extract.accounting.metrics": "extract",
    "helix_deep.metrics": "deep",
    "helix_gateway.metrics": "gateway",
    "helix_gateway.hooks.metrics": "gateway",
}
"""The modules with metrics, and the services that serve them."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as Prometheus sees it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str
    services: str

    @property
    def series(self) -> dict[str, frozenset[str]]:
        """Names that a query may use, and the labels of each."""
        labels = frozenset(self.labels)
        if self.kind != "histogram":
            return {self.name: labels}
        return {
            f"{self.name}_bucket": labels | {"le"},
            f"{self.name}_sum": labels,
            f"{self.name}_count": labels,
        }


def metrics() -> Iterator[Metric]:
    """Every metric of the project, in the order of the code."""
    for module, services in MODULES.items():
        for value in vars(importlib.import_module(module)).values():
            if isinstance(value, MetricWrapperBase):
                yield _metric(value, services)


def _metric(value: MetricWrapperBase, services: str) -> Metric:
    described: Any = next(iter(value.describe()))
    name = f"{described.name}_total" if described.type == "counter" else described.name
    kind = "gauge" if described.type == "stateset" else described.type
    own = (described.name,) if described.type == "stateset" else ()
    return Metric(name, kind, (*value._labelnames, *own), described.documentation, services)  # noqa: SLF001


def table() -> str:
    """The table in Markdown."""
    lines = ["| metric | kind | labels | what | served by |", "|---|---|---|---|---|"]
    lines += [
        f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {one.meaning} | {one.services} |"
        for one in metrics()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
