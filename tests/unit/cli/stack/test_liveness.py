"""What is asked may answer anything: another program may have the port of a process that ended."""

import socket
import threading

from helix_cli.stack.liveness import reason_not_ready


def test_something_that_speaks_no_http_is_no_answer() -> None:
    """As a NATS server, which speaks first; the thread that asks all processes had ended with it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b'INFO {"server_id":"N"}\r\n')

        greeting = threading.Thread(target=greet)
        greeting.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        said = reason_not_ready(f"http://{address}")
        greeting.join()
    assert said == f"does not answer on {address}: the answer is no HTTP: BadStatusLine"
