"""The dashboard and the alerts against a real Prometheus that scrapes a real stack."""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import METRICS_RECORD
from helix_cli.stack.stack import Stack
from helix_memory.transport.polling import poll

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(
        not (shutil.which("prometheus") and shutil.which("promtool")),
        reason="there is no prometheus and promtool here: apt-get install prometheus",
    ),
]

DASHBOARDS = Path(__file__).parents[2] / "ops/dashboards"
CASES = Path(__file__).with_name("alerts.cases.yml")
WAIT_SECONDS = 120.0
EMPTY_WHEN_SOUND = {
    "Calls refused", "Recalls without a channel", "Writer blocked, threads stuck", "Differences",
    "Dead letters by service", "Requests", "Tokens", "Deep recall by stage, 95 %",
}  # fmt: skip
"""Panels some of whose queries have no series before something goes wrong, or without a language model."""


class Prometheus:
    """A running server."""

    def __init__(self, folder: Path, home: Path) -> None:
        """Start it on the files of the repository; only its intervals and the waits of alerts are shorter."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        config = (DASHBOARDS / "prometheus.yml").read_text().replace("HELIX_HOME", str(home))
        (folder / "prometheus.yml").write_text(config.replace("15s", "1s"))
        rules = yaml.safe_load((DASHBOARDS / "alerts.yml").read_text())
        for group in rules["groups"]:
            for rule in group["rules"]:
                rule["for"] = "5s"
        (folder / "alerts.yml").write_text(yaml.safe_dump(rules))
        self._log = (folder / "prometheus.log").open("wb")
        self._process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={self.address}",
            ],
            stdout=self._log,
            stderr=self._log,
        )

    def get(self, path: str, **parameters: str) -> Any:
        """The data of a reply; an error of a query is raised."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as reply:
            return json.load(reply)["data"]

    def health(self) -> dict[str, str]:
        """State of every target by instance."""
        try:
            targets = self.get("targets")["activeTargets"]
        except OSError:
            return {}
        return {target["labels"]["instance"]: target["health"] for target in targets}

    def alerts(self) -> set[tuple[str, str]]:
        """Alerts that fire, with their instance."""
        found = self.get("alerts")["alerts"]
        return {
            (one["labels"]["alertname"], one["labels"].get("instance", ""))
            for one in found
            if one["state"] == "firing"
        }

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(timeout=30)
        self._log.close()


def until(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait for a condition; the failure says what was there instead."""
    if not any(condition() for _ in poll(WAIT_SECONDS)):
        pytest.fail(f"not in {WAIT_SECONDS:g} s; there is {what()}")


def run(home: Path, *arguments: str) -> str:
    """Output of a command that succeeds."""
    result = CliRunner(env={"HELIX_TENANT": "acme", "HELIX_HOME": str(home)}).invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """A stack with memories."""
    home = tmp_path_factory.mktemp("alerts") / "home"
    with Stack(home, nats_port=0, query_port=0, models=models_dir) as started:
        started.wait_ready()
        run(home, "publish", "--kind", "memory", "--text", "The kiln is fired on Tuesdays.")
        yield started


@pytest.fixture(scope="module")
def prometheus(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A server that has seen every process."""
    server = Prometheus(tmp_path_factory.mktemp("prometheus"), stack.home.root)
    try:
        names = {child.name for child in stack.processes} - {"nats"}
        until(lambda: server.health() == dict.fromkeys(names, "up"), server.health)
        yield server
    finally:
        server.close()


@pytest.mark.timeout(600)
def test_every_query_of_the_dashboard_has_data(stack: Stack, prometheus: Prometheus) -> None:
    """Every process is read; no query fails, and those of a sound stack have a value."""
    days = itertools.count(1)

    def empty() -> list[str]:
        run(stack.home.root, "recall", "When is the kiln fired?")
        text = f"The kiln was warm on day {next(days)}."
        run(stack.home.root, "publish", "--kind", "memory", "--text", text)
        missing = []
        for panel in json.loads((DASHBOARDS / "helix.json").read_text())["panels"]:
            for target in panel.get("targets", ()):
                query = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
                found = prometheus.get("query", query=query)["result"]
                if not (found or panel["title"] in EMPTY_WHEN_SOUND):
                    missing.append(f"{panel['title']}: {query}")
        return missing

    until(lambda: not empty(), empty)


@pytest.mark.timeout(600)
def test_an_alert_fires_while_a_worker_is_stopped_and_none_does_before_and_after(
    stack: Stack, prometheus: Prometheus
) -> None:
    """Its instance keeps its name when the worker is killed and started on another port."""
    until(lambda: not prometheus.alerts(), prometheus.alerts)
    stopped = next(child.pid for child in stack.processes if child.name == "kg-1")
    os.kill(stopped, signal.SIGSTOP)
    try:
        until(lambda: ("HelixProcessDown", "kg-1") in prometheus.alerts(), prometheus.alerts)
        assert {instance for name, instance in prometheus.alerts() if name == "HelixProcessDown"} == {"kg-1"}
    finally:
        os.kill(stopped, signal.SIGCONT)
    until(lambda: not prometheus.alerts(), prometheus.alerts)
    before = addresses(stack.home)
    stack.kill("kg")
    until(lambda: addresses(stack.home)["kg-1"] != before["kg-1"], lambda: addresses(stack.home))
    until(lambda: set(prometheus.health().values()) == {"up"}, prometheus.health)
    assert prometheus.health().keys() == before.keys()


@pytest.mark.timeout(600)
def test_an_alert_fires_while_a_dead_letter_waits(stack: Stack, prometheus: Prometheus) -> None:
    """It names the service that refused the message, and ends when the letter is dropped."""

    def refused_by() -> set[str]:
        found = prometheus.get("query", query='ALERTS{alertname="HelixDeadLetters", alertstate="firing"}')
        return {one["metric"]["service"] for one in found["result"]}

    home = stack.home.root
    assert refused_by() == set()
    run(home, "publish", "--kind", "forget", "--set", f"memory_ids={json.dumps(['0' * 32])}")
    until(lambda: refused_by() == {"consolidation"}, refused_by)
    [letter] = json.loads(run(home, "dlq", "ls", "--json"))
    run(home, "dlq", "drop", str(letter["sequence"]))
    until(lambda: refused_by() == set(), refused_by)


def addresses(home: HomeFolder) -> dict[str, str]:
    """Address of each process, from the file for Prometheus."""
    found = json.loads((home.run / METRICS_RECORD).read_bytes())
    return {one["labels"]["instance"]: one["targets"][0] for one in found}


CASES_OF: dict[str, dict[str, Any]] = yaml.safe_load(CASES.read_text())


def named_rules() -> dict[str, dict[str, Any]]:
    """The rules by name, without the annotations, which promtool would compare as well."""
    groups = yaml.safe_load((DASHBOARDS / "alerts.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return {rule["alert"]: {key: rule[key] for key in ("alert", "expr", "for", "labels")} for rule in rules}


def test_promtool_takes_the_rules() -> None:
    """Expressions and templates of summaries are valid."""
    subprocess.run(["promtool", "check", "rules", DASHBOARDS / "alerts.yml"], check=True, capture_output=True)


def test_each_alert_fires_in_its_situation_and_not_in_the_sound_one(tmp_path: Path) -> None:
    """As promtool computes it from series; every alert has a case."""
    rules = named_rules()
    assert CASES_OF.keys() == rules.keys()
    assert judged(tmp_path, [*rules.values()], [*CASES_OF]) == ""


@pytest.mark.parametrize("alert", CASES_OF)
def test_a_rule_that_always_or_never_fires_fails_its_case(tmp_path: Path, alert: str) -> None:
    """The control of the test above."""
    rule = named_rules()[alert]
    assert "FAILED" in judged(tmp_path, [rule | {"expr": "vector(1) == 0"}], [alert])
    assert "FAILED" in judged(tmp_path, [rule | {"expr": "vector(1)", "for": "0m"}], [alert])


def judged(folder: Path, rules: list[dict[str, Any]], alerts: list[str]) -> str:
    """What promtool has against rules, tested with the cases of alerts; empty: nothing."""
    labels = {rule["alert"]: rule["labels"] for rule in rules}
    tests = [
        {
            "interval": "1m",
            "input_series": [
                {"series": name, "values": values} for name, values in CASES_OF[alert][state].items()
            ],
            "alert_rule_test": [
                {
                    "eval_time": "60m",
                    "alertname": alert,
                    "exp_alerts": [{"exp_labels": labels[alert] | CASES_OF[alert]["labels"]}]
                    if state == "fires"
                    else [],
                }
            ],
        }
        for alert in alerts
        for state in ("fires", "sound")
    ]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    cases = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}
    (folder / "cases.yml").write_text(yaml.safe_dump(cases))
    found = subprocess.run(
        ["promtool", "test", "rules", folder / "cases.yml"], capture_output=True, text=True, check=False
    )
    return "" if found.returncode == 0 else found.stdout + found.stderr
