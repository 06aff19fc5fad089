"""A folder as object store, and an S3 server that ignores preconditions as npm s3rver does."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from helix_shared.artifacts.object_storage.store import ObjectStore


class _Handler(BaseHTTPRequestHandler):
    objects: ClassVar[dict[str, bytes]] = {}
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.objects[self.path] = body
        self._answer(200, tag=hashlib.md5(body, usedforsecurity=False).hexdigest())

    def do_POST(self) -> None:
        """Removes several objects, but keeps them: nothing here depends on it."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, body=b"<DeleteResult/>")

    def _answer(self, status: int, *, tag: str = "", body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if tag:
            self.send_header("ETag", f'"{tag}"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    """A folder as object store."""
    return ObjectStore.open(f"file://{tmp_path}/objects")


@pytest.fixture
def careless_address() -> Iterator[str]:
    """The address of a server that ignores preconditions."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
