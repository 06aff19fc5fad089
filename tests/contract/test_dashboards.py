import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY

from .promql import names_in

ROOT = Path(__file__).parents[2]
DASHBOARDS = ROOT / "ops/dashboards"
RUNBOOK = (ROOT / "ops/runbook.md").read_text(encoding="utf-8")
ALL_TARGETS = frozenset(("job", "instance"))
"""Labels that a scrape adds."""


def _module(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


metrics_table = _module(ROOT / "ops/metrics_table.py")


def _series() -> dict[str, frozenset[str]]:
    """Every series that a process serves, with its labels; also those of the Prometheus client, and `up`."""
    found = {name: labels for one in metrics_table.metrics() for name, labels in one.series.items()}
    for family in REGISTRY.collect():
        if family.name.startswith("process_"):
            found |= {sample.name: frozenset[str]() for sample in family.samples}
    return {name: labels | ALL_TARGETS for name, labels in (found | {"up": frozenset[str]()}).items()}


SERIES = _series()


def wrong_names(expression: str, series: Mapping[str, frozenset[str]] = SERIES) -> list[str]:
    """Metrics and labels of an expression that no process serves."""
    found = names_in(expression)
    wrong = [name for name, _ in found.selected if name not in series]
    known = frozenset[str]().union(*(series.get(name, frozenset()) for name, _ in found.selected))
    for name, labels in found.selected:
        wrong += sorted(labels - series.get(name, known))
    return wrong + sorted(found.grouped - known)


def board() -> dict[str, Any]:
    """The dashboard."""
    read: dict[str, Any] = json.loads((DASHBOARDS / "helix.json").read_text(encoding="utf-8"))
    return read


def plain(expression: str) -> str:
    """A query of the dashboard with its variables filled in."""
    return expression.replace("$__rate_interval", "1m").replace("$instance", ".*")


def panels() -> list[dict[str, Any]]:
    """The panels with queries."""
    return [panel for panel in board()["panels"] if panel["type"] != "row"]


def rules() -> Iterator[dict[str, Any]]:
    """The alert rules."""
    for group in yaml.safe_load((DASHBOARDS / "alerts.yml").read_text(encoding="utf-8"))["groups"]:
        yield from group["rules"]


def test_every_query_of_the_dashboard_names_what_processes_serve() -> None:
    """Metrics, labels of matchers and groupings, and the labels of legends."""
    for panel in panels():
        for target in panel["targets"]:
            expression = plain(target["expr"])
            assert wrong_names(expression) == [], panel["title"]
            found = names_in(expression)
            legend = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            has = found.grouped or SERIES[found.selected[0][0]]
            assert legend <= has, panel["title"]


def test_every_alert_names_what_processes_serve() -> None:
    """Metrics and labels of expressions, and labels in summaries."""
    for rule in rules():
        assert wrong_names(rule["expr"]) == [], rule["alert"]
        found = names_in(rule["expr"])
        has = found.grouped - {"le"} or SERIES[found.selected[0][0]]
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= has, rule["alert"]


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ('sum by (service) (rate(helix_message_total{outcome="done"}[5m]))', ["helix_message_total"]),
        ('sum(rate(helix_messages_total{result="done"}[5m]))', ["result"]),
        ("sum by (tenant) (rate(helix_messages_total[5m]))", ["tenant"]),
        ("rate(helix_rpc_seconds[5m])", ["helix_rpc_seconds"]),
        ("max by (le) (helix_ready)", ["le"]),
    ],
)
def test_a_query_with_a_wrong_name_is_found(expression: str, wrong: list[str]) -> None:
    """A metric, a label of a matcher or of a grouping, a histogram without its suffix."""
    assert set(wrong) <= set(wrong_names(expression))


@pytest.mark.parametrize("expression", ["nonsense(helix_ready)", "helix_ready ~ 1", 'helix_ready{"a'])
def test_a_query_that_cannot_be_read_is_refused(expression: str) -> None:
    """An unknown function or sign is not passed over."""
    with pytest.raises(ValueError, match="unknown"):
        names_in(expression)


def test_every_alert_has_its_section_in_the_runbook() -> None:
    """It stands under its name, and the alert links there."""
    headings = re.findall(r"^#### (\w+)$", RUNBOOK, re.MULTILINE)
    names = [rule["alert"] for rule in rules()]
    assert headings == names
    for rule in rules():
        assert rule["annotations"]["runbook_url"] == f"ops/runbook.md#{rule['alert'].lower()}"
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in {"critical", "warning"}


def test_the_dashboard_is_whole() -> None:
    """Grafana takes it: ids are unique, panels do not overlap, variables and data sources are declared."""
    found = board()
    assert all(found[name] for name in ("uid", "title"))
    assert found["schemaVersion"] >= 36
    assert {one["name"] for one in found["templating"]["list"]} == {"datasource", "instance"}
    ids = [panel["id"] for panel in found["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels():
        assert all(panel[name] for name in ("title", "description"))
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${datasource}"
        references = [target["refId"] for target in panel["targets"]]
        assert len(references) == len(set(references)) > 0
    places = [panel["gridPos"] for panel in found["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert not [pair for pair in combinations(places, 2) if _overlap(*pair)]


def _overlap(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    return all(
        one[start] < other[start] + other[length] and other[start] < one[start] + one[length]
        for start, length in (("x", "w"), ("y", "h"))
    )


def test_the_runbook_lists_every_metric_as_it_is() -> None:
    """The table is generated from the code."""
    made = subprocess.run(
        [sys.executable, ROOT / "ops/metrics_table.py"], capture_output=True, text=True, check=True
    ).stdout
    assert RUNBOOK.split("<!-- metrics -->\n")[1].split("<!-- metrics end -->")[0] == made


def test_no_metric_is_defined_outside_of_the_table() -> None:
    """A metric of a new module is in the table only if the script imports that module."""
    known = {one.name for one in metrics_table.metrics()}
    for folder in ("shared", "services"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            defined = re.findall(r"\b(?:Counter|Gauge|Histogram|Enum|Summary|Info)\(\s*\"(helix_\w+)\"", text)
            assert set(defined) <= known, path


def test_metrics_have_conventional_names() -> None:
    """Prefix, unit in base units, `_total` of counters alone, a sentence of help, no label for a tenant."""
    for one in metrics_table.metrics():
        assert re.fullmatch(r"helix(_[a-z]+)+", one.name)
        assert one.name.endswith("_total") == (one.kind == "counter"), one.name
        assert not one.name.endswith(("_ms", "_milliseconds", "_minutes", "_kb", "_mb")), one.name
        assert one.kind != "histogram" or one.name.endswith("_seconds"), one.name
        assert len(one.meaning.split()) > 1, one.name
        assert not {"tenant", "user", "tenant_id", "user_id"} & set(one.labels), one.name
