"""What is asked may answer anything: another program may have the port of a process that ended."""

import socket
import threading

from helix_cli.stack.liveness import _Seen, reason_not_ready


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


def test_a_process_is_silent_between_questions_and_not_while_nobody_asked() -> None:
    """After Ctrl-Z and `fg` the first question is an hour after the last answer: nothing is killed for it."""
    seen = _Seen(7)
    seen.note(answered=True, at=10.0)
    seen.note(answered=False, at=3_600.0)
    assert seen.silent_seconds == 0.0
    seen.note(answered=False, at=3_670.0)
    assert (seen.silent_seconds, seen.has_answered) == (70.0, True)
    seen.note(answered=True, at=3_671.0)
    assert seen.silent_seconds == 0.0
