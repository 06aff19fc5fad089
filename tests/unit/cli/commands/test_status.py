import json
import re
from datetime import UTC, datetime
from pathlib import Path

from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.clients.broker_status import BrokerStatus, StreamRow
from helix_cli.clients.query_status import QueryStatus, ReplicaStatus
from helix_cli.commands.common.lines.object_storage import replica_line, upload_line
from helix_cli.commands.operating.status import lag, summary
from helix_cli.home.folder import HomeFolder
from helix_cli.output.terminal import one_line, printable, size
from helix_shared.artifacts.object_storage.record import UploadRecord

LOG = StreamRow("HELIX_EVENTS", messages=90, bytes=1, first_sequence=11, last_sequence=100)


def test_lag_is_what_is_published_but_not_applied() -> None:
    """100 in the stream, 64 applied: 36 to go. Sequences count, not messages."""
    broker = BrokerStatus("n", streams=[LOG])
    assert lag(broker, QueryStatus("q", applied_sequence=64)) == 36


def test_lag_is_unknown_while_a_part_is_down() -> None:
    """Zero would mean that everything is well."""
    assert lag(BrokerStatus("n", problem="down"), QueryStatus("q")) is None
    assert lag(BrokerStatus("n", streams=[LOG]), QueryStatus("q", problem="down")) is None
    assert summary(BrokerStatus("n", problem="down"), QueryStatus("q"), None)["dead_letters"] is None


def test_foreign_text_cannot_steer_the_terminal() -> None:
    """Escape sequences, carriage returns and writing directions; line breaks and tabs stay."""
    assert printable("a\x1b[2Jb\r\u202ec\n\td\x9b") == "a\ufffd[2Jb\ufffd\ufffdc\n\td\ufffd"


def test_sizes_and_cut_lines_are_for_people() -> None:
    """1,536 bytes are 1.5 KiB."""
    assert [size(n) for n in (0, 1023, 1536, 3 * 1024**3)] == ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]
    assert one_line("a  b\nc", characters=5) == "a b c"
    assert one_line("abcdef", characters=4) == "abc…"


def test_the_bucket_shows_what_is_there_and_what_keeps_the_next_one_back() -> None:
    """Beside the time from publication to the upload."""
    record = UploadRecord(
        url="s3://helix/shard",
        generation=7,
        published_at=datetime(2026, 1, 1, tzinfo=UTC),
        uploaded_at=datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC),
        uploaded_bytes=1_500_000,
        uploaded_parts=12,
        skipped_parts=80,
        problem="a writer of epoch 9 publishes",
    )
    line = upload_line(record)
    assert "generation 7, there 2.0 s after its publication, 1.5 MB in 12 parts, 80 parts were there" in line
    assert line.endswith("not uploaded: a writer of epoch 9 publishes")
    assert upload_line(UploadRecord(url="s3://helix/shard")).endswith("nothing uploaded yet")


def test_the_status_shows_what_the_writer_of_every_shard_uploaded(tmp_path: Path) -> None:
    """Each has a prefix of its own, and its own trouble."""
    home = HomeFolder.at(tmp_path)
    for shard, url in enumerate(("s3://helix", "s3://helix/shard-1")):
        home.data_of(shard).mkdir(parents=True)
        UploadRecord(url=url).write(home.data_of(shard))
    away = ["--nats", "nats://127.0.0.1:1", "--query", "127.0.0.1:1", "--home", str(tmp_path)]
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["status", *away]).stdout
    assert re.findall(r"bucket (\S+)  nothing uploaded yet", shown) == ["s3://helix", "s3://helix/shard-1"]
    told = json.loads(CliRunner().invoke(app, ["status", "--json", *away]).stdout)
    assert [one["url"] for one in told["buckets"]] == ["s3://helix", "s3://helix/shard-1"]


def test_a_replica_shows_how_far_it_is_behind() -> None:
    """And the part that it refuses."""
    line = replica_line(ReplicaStatus("s3://helix/shard", newest=9, problem="part is damaged: ab"), 7)
    assert (
        line
        == "replica of s3://helix/shard, newest there 9, 2 behind\n       not pulled: part is damaged: ab"
    )
    assert (
        replica_line(ReplicaStatus("s3://b", newest=7, problem=""), 7) == "replica of s3://b, newest there 7"
    )
