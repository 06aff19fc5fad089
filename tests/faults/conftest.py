"""The report of the fault tests: one table on the terminal, and `reports/faults/<time>.json`.

A test takes the fixture `report` and fills in what it did:

    @pytest.mark.faults
    def test_crashes_lose_nothing(report: Report) -> None:
        events = report.scaled(20_000, least=200)   # smaller with FAULTS_SCALE=0.05
        dice = random.Random(report.seed)           # FAULTS_SEED, or `report.default_seed = 11` before
        ...
        report.counts |= {"events": events, "kills": kills}
        report.figure = f"{lost} lost, {twice} twice"
        assert (lost, twice) == (0, 0)
        ...                                         # the same with the protection switched off
        report.control(lost_without_protection > 0, "an ack before the apply loses events")

`name` is that of the test without `test_`; `ok` is the outcome. Call `control` once the run with the
protection switched off has been looked at: with False the test fails, because it could not have failed. Where
a test has no control, the field is null. Fill in `counts` and `figure` before the assertions, so that the row
of a failed test has them.

    make faults FAULTS_SCALE=0.05 FAULTS_SEED=7 ARGS="-k crashes"

The file is written again after each test, so a run that is cut off leaves the rows of the tests before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.terminal import TerminalReporter

FOLDER: Final = Path(__file__).parents[2] / "reports" / "faults"
PROPERTY: Final = "fault"
CONTROLS: Final = {None: "none", True: "failed as it must", False: "DID NOT FAIL"}


@dataclass
class Report:
    """The row of one test."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    figure: str = ""
    default_seed: int = 2026
    control_failed: bool | None = None

    @property
    def seed(self) -> int:
        """Seed of everything random in the test: FAULTS_SEED, else the one that the test names."""
        return int(os.environ.get("FAULTS_SEED") or self.default_seed)

    def scaled(self, full: int, *, least: int = 1) -> int:
        """A size of the test: the full one times FAULTS_SCALE, and at least `least`."""
        return max(least, round(full * float(os.environ.get("FAULTS_SCALE") or 1)))

    def control(self, failed: bool, what: str) -> None:
        """Note whether the run without the protection failed; `what` says why it must."""
        self.control_failed = failed
        assert failed, f"the control did not fail: {what}"

    def row(self, *, ok: bool) -> dict[str, Any]:
        """What stands in the file."""
        return {
            "name": self.name,
            "seed": self.seed,
            "counts": self.counts,
            "figure": self.figure,
            "ok": ok,
            "control_failed_as_it_must": self.control_failed,
        }


REPORT: Final = pytest.StashKey[Report]()


class FaultReport:
    """Collects the rows; a plugin."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Without rows."""
        self.rows: dict[str, dict[str, Any]] = {}
        self.skipped: list[str] = []
        self.path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the row of a test that ran; a failure in its setup or teardown counts as well."""
        row = next((value for name, value in report.user_properties if name == PROPERTY), None)
        if not isinstance(row, dict) or not (report.when == "call" or report.failed):
            return
        if report.skipped:  # neither passed nor failed; longrepr is (file, line, reason)
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.skipped.append(f"skipped {row['name']}: {reason}")
            return
        self.rows[report.nodeid] = row
        if "faults" in report.keywords:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"tests": list(self.rows.values())}, indent=1)
            self.path.write_text(f"{text}\n", encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Write the table."""
        if not self.path.exists() and not self.skipped:
            return
        terminalreporter.section("faults")
        for line in self.skipped:
            terminalreporter.write_line(line)
        if not self.path.exists():
            return
        for row in self.rows.values():
            counts = ", ".join(f"{name} {count:,}" for name, count in row["counts"].items())
            said = (f"seed {row['seed']}", counts, row["figure"])
            control = CONTROLS[row["control_failed_as_it_must"]]
            terminalreporter.write_line(f"{'ok' if row['ok'] else 'FAILED':6} {row['name']}")
            terminalreporter.write_line("       " + " | ".join(part for part in said if part))
            terminalreporter.write_line(f"       control: {control}")
        terminalreporter.write_line(f"written to {self.path}")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the rows of this run."""
    config.pluginmanager.register(FaultReport(), "fault-report")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give the row of the test to the report of its outcome, which also other processes can send."""
    made = yield
    if (found := item.stash.get(REPORT, None)) is not None:
        made.user_properties.append((PROPERTY, found.row(ok=made.passed)))
    return made


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """The row of this test."""
    made = Report(request.node.name.removeprefix("test_"))
    request.node.stash[REPORT] = made
    return made
