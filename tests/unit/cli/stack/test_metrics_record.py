import json
from pathlib import Path

import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import METRICS_RECORD, RunRecord, read_record, remove_record, write_record
from helix_cli.stack import children
from helix_cli.stack.children import ServiceChild
from helix_cli.stack.ports import StackPorts


def test_a_port_of_another_service_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """That one listens later: it would find its port taken at each start."""
    drawn = iter([5, 6, 7])
    monkeypatch.setattr(children, "free_port", lambda: next(drawn))
    reserved, log = StackPorts(5, (6,)).every, tmp_path / "log"
    child = ServiceChild("kg-1", "none", environment={}, log=log, port_variable="P", reserved=reserved)
    assert child._with_port()["P"] == "7"


def test_prometheus_finds_processes_by_name_whatever_their_port(tmp_path: Path) -> None:
    """The file is in the form of `file_sd_configs`, and goes with the record."""
    home = HomeFolder.at(tmp_path)
    for port in (9100, 9200):
        record = RunRecord("nats://127.0.0.1:1", "127.0.0.1:2", metrics={"kg-1": f"127.0.0.1:{port}"})
        write_record(home, record)
        targets = json.loads((home.run / METRICS_RECORD).read_text())
        assert targets == [{"targets": [f"127.0.0.1:{port}"], "labels": {"instance": "kg-1"}}]
        assert read_record(home) == record
    remove_record(home)
    assert not (home.run / METRICS_RECORD).exists()
