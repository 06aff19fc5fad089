"""An S3 server in a process of its own: moto, from the environment that `make objects-setup` makes."""

from __future__ import annotations

import http.client
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from helix_shared.broker.server import free_port

BUCKET: Final = "helix"
PYTHON: Final = Path(__file__).parents[1] / ".venv-objects" / "bin" / "python"
START_SECONDS: Final = 60


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """The address of a server with the bucket `BUCKET`, whose log is in `folder`; it ends with the block."""
    port, log = free_port(), folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [PYTHON, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=output, stderr=output
        )
    try:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("PUT", f"/{BUCKET}")
                connection.getresponse().read()
                connection.close()
                break
            except OSError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def s3_environment(address: str) -> dict[str, str]:
    """The variables with which a client finds the server."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
