"""What the log of a NATS server tells about it."""

import shutil
from pathlib import Path

import pytest

from helix_shared.broker import server
from helix_shared.broker.server import NatsServer

REFUSED = (
    "[7] 2026/11/24 13:24:13 [ERR] JetStream failed to store a msg on stream '$G > HELIX_EVENTS': "
    "write msgs/1.blk: no space left on device\n"
)


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
