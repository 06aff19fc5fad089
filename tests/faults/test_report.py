"""The report of the fault tests itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROPERTY, FaultReport, Report


def ran(row: dict[str, Any], *, outcome: Any, when: Any = "call") -> pytest.TestReport:
    """The outcome of a test with a row."""
    given = {"user_properties": [(PROPERTY, row)], "when": when, "outcome": outcome}
    return pytest.TestReport(row["name"], ("", 0, ""), {"faults": 1}, longrepr=None, **given)


def test_the_file_has_one_row_for_each_test(tmp_path: Path) -> None:
    """With exactly the fields of the report; a failure after the test makes its row fail."""
    plugin, first, second = FaultReport(tmp_path), Report("first", {"events": 3}, "0 lost"), Report("second")
    first.control(bool(first.counts), "it loses")
    plugin.pytest_runtest_logreport(ran(first.row(ok=True), outcome="passed"))
    plugin.pytest_runtest_logreport(ran(second.row(ok=True), outcome="passed"))
    plugin.pytest_runtest_logreport(ran(second.row(ok=False), outcome="failed", when="teardown"))
    [file] = tmp_path.iterdir()
    rows = json.loads(file.read_text())["tests"]
    assert rows[0] == {
        "name": "first",
        "seed": first.seed,
        "counts": {"events": 3},
        "figure": "0 lost",
        "ok": True,
        "control_failed_as_it_must": True,
    }
    assert [(row["name"], row["ok"], row["control_failed_as_it_must"]) for row in rows] == [
        ("first", True, True),
        ("second", False, None),
    ]


def test_a_skipped_test_is_named_and_has_no_row(tmp_path: Path) -> None:
    """It neither passed nor failed: what it needs is not on this machine."""
    plugin, row = FaultReport(tmp_path), Report("clock").row(ok=False)
    given = {"user_properties": [(PROPERTY, row)], "when": "call", "outcome": "skipped"}
    plugin.pytest_runtest_logreport(
        pytest.TestReport("clock", ("", 0, ""), {"faults": 1}, longrepr=("", 1, "no libfaketime"), **given)
    )
    assert list(tmp_path.iterdir()) == []
    assert plugin.skipped == ["skipped clock: no libfaketime"]


def test_a_control_that_does_not_fail_fails_the_test() -> None:
    """A check that finds nothing without the protection finds nothing with it."""
    report = Report("one")
    with pytest.raises(AssertionError, match="it loses"):
        report.control(bool(report.counts), "it loses")
    assert report.row(ok=False)["control_failed_as_it_must"] is False


def test_sizes_and_seeds_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full sizes and the seed of the test where nothing is said."""
    report = Report("one", default_seed=11)
    for name in ("FAULTS_SCALE", "FAULTS_SEED"):
        monkeypatch.delenv(name, raising=False)
    assert (report.scaled(20_000), report.seed) == (20_000, 11)
    monkeypatch.setenv("FAULTS_SCALE", "0.05")
    monkeypatch.setenv("FAULTS_SEED", "7")
    assert (report.scaled(20_000), report.scaled(10, least=2), report.seed) == (1_000, 2, 7)
