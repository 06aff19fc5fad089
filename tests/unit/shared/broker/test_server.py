"""What the log of a NATS server tells about it."""

import shutil
from pathlib import Path

import pytest

from helix_shared.broker import server
from helix_shared.broker.server import NatsServer
from helix_shared.errors import PermanentError

REFUSED = (
    "[7] 2026/11/24 13:24:13 [ERR] JetStream failed to store a msg on stream '$G > HELIX_EVENTS': "
    "write msgs/1.blk: no space left on device\n"
)


def test_a_free_port_is_none_that_a_connection_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the choice and the start of the server another process may connect to anything."""
    first = int(server.OUTGOING_PORTS.read_text().split()[0])
    if first > server.FIRST_PORT + server.PORTS_TRIED:
        assert all(server.FIRST_PORT <= server.free_port() < first for _ in range(20))
    for told in ("1024 65535\n", "rubbish", ""):
        (tmp_path / "range").write_text(told)
        monkeypatch.setattr(server, "OUTGOING_PORTS", tmp_path / "range")
        assert 0 < server.free_port() < 1 << 16
    monkeypatch.setattr(server, "OUTGOING_PORTS", tmp_path / "none")
    assert server.free_port() > 0


def test_a_server_whose_port_another_one_has_does_not_start(tmp_path: Path) -> None:
    """It would seem to: the other one accepts the connection, and clients would use its streams."""
    with NatsServer(tmp_path / "one") as one, pytest.raises(PermanentError, match="address already in use"):
        NatsServer(tmp_path / "two", port=one.port).start()


@pytest.mark.parametrize("name", ["Zoë's home", 'a "quoted" \\ name', "\udcff"])
def test_a_server_starts_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    """Also with letters outside ASCII and with bytes that are no UTF-8."""
    refused = pytest.raises(PermanentError, match="address already in use")
    with NatsServer(tmp_path / name) as one, refused:
        # its log names the folder
        NatsServer(tmp_path / name / "two", port=one.port).start()
    assert (tmp_path / name / "store").is_dir()


def test_a_stream_that_could_not_write_freezes_the_server_until_its_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is frozen once its disk has room again, because a restart does not help before."""
    one = NatsServer(tmp_path)
    assert not one.is_frozen()
    one.log.write_text("[7] [INF] Server is ready\n" + REFUSED[:40])
    assert not one.is_frozen()
    one.log.write_text("[7] [INF] Server is ready\n" + REFUSED)
    with monkeypatch.context() as full:
        full.setattr(server, "ROOM_BYTES", shutil.disk_usage(tmp_path).total + 1)
        assert not one.is_frozen()
    assert one.is_frozen()
    with one:
        assert not one.is_frozen()
