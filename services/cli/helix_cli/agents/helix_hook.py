"""Passes a hook of a coding agent to the gateway of Helix and prints the answer; `helix agent` installs it.

    python -I -S helix_hook.py <file of the connection>

A prompt waits for it, so it imports next to nothing, and gives up soon. It ends with 0 and prints
nothing where anything is wrong: the agent goes on as without Helix. The file has one line `<scheme>
<host> <port> <path>`, then lines of headers; a line `token_file <path>` names the file of a token,
`ca_file <path>` the CA of the gateway.
"""

from __future__ import annotations

import os
import sys
import time
from _socket import (
    SOCK_STREAM,
    getaddrinfo,
    socket,
)  # the module `socket` takes longer to import than this runs

CONNECT_SECONDS = 0.2
ANSWER_SECONDS = 0.5
BODY_BYTES = 4 * 1024 * 1024


def main() -> None:
    """Ask and print."""
    deadline = time.monotonic() + CONNECT_SECONDS + ANSWER_SECONDS
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123  pathlib is slow to import
        first, *lines = file.read().splitlines()
    scheme, host, port, path = first.split(" ")
    headers, files = [], {}
    for line in lines:
        name, _, value = line.partition(" ")
        if name.endswith(":"):
            headers.append(line)
        else:
            files[name] = value
    if "token_file" in files:
        with open(files["token_file"], encoding="utf-8") as file:  # noqa: PTH123
            headers.append(f"Authorization: Bearer {file.read().strip()}")
    body = sys.stdin.buffer.read(BODY_BYTES)
    head = [f"POST {path} HTTP/1.1", f"Host: {host}:{port}", "Connection: close"]
    head += ["Content-Type: application/json", f"Content-Length: {len(body)}", *headers, "", ""]
    connection = _connected(host, int(port))
    if scheme == "https":
        connection = _encrypted(connection, host, files.get("ca_file"))
    connection.sendall("\r\n".join(head).encode() + body)
    answer = _answer(connection, deadline)
    if answer not in (b"", b"{}"):
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


def _connected(host: str, port: int) -> socket:
    # bytes: a text would import the codec idna
    family, _, _, _, address = getaddrinfo(host.encode(), port, 0, SOCK_STREAM)[0]
    connection = socket(family, SOCK_STREAM)
    connection.settimeout(CONNECT_SECONDS)
    connection.connect(address)
    connection.settimeout(ANSWER_SECONDS)
    return connection


def _encrypted(connection: socket, host: str, ca_file: str | None) -> socket:
    import socket as sockets  # noqa: PLC0415  slow, and needed for TLS alone
    import ssl  # noqa: PLC0415

    plain = sockets.socket(fileno=connection.detach())
    plain.settimeout(ANSWER_SECONDS)
    return ssl.create_default_context(cafile=ca_file).wrap_socket(plain, server_hostname=host)


def _answer(connection: socket, deadline: float) -> bytes:
    """The whole body of an answer with status 200; else nothing: the agent takes half of it for a text."""
    parts = []
    while part := connection.recv(65_536):
        if time.monotonic() > deadline:
            return b""
        parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    fields = [line.lower().split(b":", 1) for line in lines]
    lengths = [int(value) for name, value in fields if name == b"content-length"]
    is_whole = status.split(b" ", 2)[1:2] == [b"200"] and lengths in ([], [len(body)])
    return body if is_whole else b""


if __name__ == "__main__":
    try:  # noqa: SIM105  contextlib is slow to import
        main()
    except BaseException:  # noqa: BLE001, S110  whatever it is, the prompt goes on
        pass
    os._exit(0)
