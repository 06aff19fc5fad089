import json
from pathlib import Path

from helix_cli.stack.home import (
    METRICS_RECORD,
    HomeFolder,
    RunRecord,
    read_record,
    remove_record,
    write_record,
)


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
