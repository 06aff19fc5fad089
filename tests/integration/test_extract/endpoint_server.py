"""A small OpenAI-compatible server on a real socket that answers well or badly, as the test says."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Turns = list[dict[str, Any]]
Answer = Callable[[Turns], dict[str, Any]]


def noting(turns: Turns) -> dict[str, Any]:
    """One memory for each turn of a user, with the turn as its quote."""
    memories = [
        {
            "text": f"{turn.get('speaker', 'The user')} says that {turn['text'].rstrip('.')}.",
            "kind": "fact",
            "turns": [turn["turn"]],
            "quote": turn["text"],
            "valid_from": None,
            "valid_to": None,
            "entities": [],
            "questions": [f"what did {turn.get('speaker', 'the user')} note"],
            "confidence": 0.9,
        }
        for turn in turns
        if turn["role"] == "user"
    ]
    return {"entities": [], "memories": memories, "links": []}


def judging(pairs: Turns) -> dict[str, Any]:
    """Every newer text replaces the older one; both are quoted whole."""
    return {
        "verdicts": [
            {
                "pair": pair["pair"],
                "verdict": "replaces",
                "older_quote": pair["older"]["text"],
                "newer_quote": pair["newer"]["text"],
            }
            for pair in pairs
        ]
    }


class EndpointServer:
    """The server, and the requests that it got; `answer` gives the JSON, `write` the text around it."""

    def __init__(self) -> None:
        self.answer: Answer = noting
        self.judge: Answer = judging
        """Answers the questions about pairs."""
        self.answer_request: Callable[[dict[str, Any]], dict[str, Any]] | None = None
        """Answers whole requests, in place of both."""
        self.write: Callable[[str], str] = lambda text: text
        self.finish_reason = "stop"
        self.statuses: list[tuple[int, dict[str, str], str]] = []
        """Replies to the next requests instead of answers: status, headers, body."""
        self.status = 0
        """Status of every reply, if not 0."""
        self.refuses: tuple[str, ...] = ()
        """Fields of a request, or forms of an answer, that are refused with 400."""
        self.seconds = 0.0
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.is_absent = False
        """Nothing listens, and connections that are open end without a reply."""
        self._server = _listening(self, 0)

    @property
    def url(self) -> str:
        """Base URL for the settings."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def _port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def answered(self) -> int:
        """Requests that got an answer."""
        return sum(bool(request.get("answered")) for request in self.requests)

    def __enter__(self) -> Self:
        self._serve()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @contextlib.contextmanager
    def absent(self) -> Iterator[None]:
        """The server is gone, and comes back at the same address."""
        self.is_absent = True
        self.__exit__()
        try:
            yield
        finally:
            self._server = _listening(self, self._port)
            self.is_absent = False
            self._serve()

    def _serve(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def reply(self, request: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        """Status, headers and body for one request."""
        self.requests.append(request)
        time.sleep(self.seconds)
        if self.statuses:
            return self.statuses.pop(0)
        if self.status:
            return self.status, {}, '{"error": {"message": "no"}}'
        form = request.get("response_format", {}).get("type", "text")
        for refused in self.refuses:
            if refused in request or refused == form:
                return 400, {}, json.dumps({"error": {"message": f"{refused} is not supported"}})
        text = self.write(json.dumps(self._answer_to(request)))
        request["answered"] = True
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        usage = {"prompt_tokens": 400, "completion_tokens": 100}
        return 200, {}, json.dumps({"choices": [choice], "usage": usage})

    def _answer_to(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.answer_request is not None:
            return self.answer_request(request)
        turns = [json.loads(line) for line in request["messages"][-1]["content"].splitlines()]
        answer = self.judge if "pair" in turns[0] else self.answer
        return answer(turns)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error."""


def _listening(server: EndpointServer, port: int) -> _Server:
    made = _Server(("127.0.0.1", port), _handler(server))
    made.daemon_threads = True
    return made


def _handler(server: EndpointServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if server.is_absent:
                self.close_connection = True
                return
            assert self.path == "/v1/chat/completions"
            server.keys.append(self.headers.get("Authorization", ""))
            status, headers, text = server.reply(json.loads(body))
            encoded = text.encode()
            try:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(encoded))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(encoded)
            except OSError:
                pass  # the client gave up

        def log_message(self, *_: object) -> None:
            pass

    return Handler
