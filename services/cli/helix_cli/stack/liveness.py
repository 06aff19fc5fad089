"""Whether the processes of a stack are alive: asks each for `/healthz` of `helix_shared.telemetry.health`.

A thread asks one process after the other. A process that is stopped, or whose interpreter hangs, accepts the
connection but does not answer; one whose event loop hangs answers 503. `supervisor` kills it after
`SILENT_SECONDS` and starts it again. NATS is not asked: its log tells whether it is frozen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

from helix_cli.stack.children import Child

if TYPE_CHECKING:
    import ssl
    from http.client import HTTPResponse

ASK_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 2.0
SILENT_SECONDS: Final = 60.0
"""A process that was alive and does not answer for this long is killed."""
FIRST_SECONDS: Final = 180.0
"""A process that has never answered since its start is killed after this: it loads models and stores."""
MOST_BYTES: Final = 2_000
"""Of a reason."""
_DIRECT: Final = build_opener(ProxyHandler({}))


@runtime_checkable
class Answering(Protocol):
    """A child that answers over HTTP."""

    @property
    def health_url(self) -> str:
        """Address of `/healthz`; empty where it has none."""

    @property
    def pid(self) -> int:
        """Process id; 0 before the first start."""


@runtime_checkable
class Freezing(Protocol):
    """A child that may answer and yet not work until it is started again."""

    def is_frozen(self) -> bool:
        """Whether it must be started again."""


@dataclass(slots=True)
class _Seen:
    """A process, and since when it has not answered: from the first unanswered question to the last one.

    Not until now: while this process itself was stopped (Ctrl-Z), nobody asked.
    """

    pid: int
    first: float = 0.0
    last: float = 0.0
    has_answered: bool = False

    def note(self, *, answered: bool, at: float) -> None:
        """What came of a question."""
        if answered:
            self.first, self.has_answered = 0.0, True
            return
        self.first, self.last = self.first or at, at

    @property
    def silent_seconds(self) -> float:
        """How long it has not answered."""
        return self.last - self.first if self.first else 0.0


class Liveness:
    """Asks children until `close`; `silence` tells which of them must be killed."""

    def __init__(
        self, *, silent_seconds: float = SILENT_SECONDS, first_seconds: float = FIRST_SECONDS
    ) -> None:
        self._silent_seconds = silent_seconds
        self._first_seconds = first_seconds
        self._children: Sequence[Child] = ()
        self._seen: dict[str, _Seen] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="liveness")

    def watch(self, children: Sequence[Child]) -> None:
        """Start asking; the children run already."""
        self._children = [child for child in children if isinstance(child, Answering) and child.health_url]
        self._thread.start()

    def close(self) -> None:
        """Stop asking."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join()

    def silence(self, child: Child) -> str:
        """Why a running child must be killed; empty while it is alive."""
        if isinstance(child, Freezing) and child.is_frozen():
            return "refuses messages since its disk was full"
        seen = self._seen.get(child.name)
        if seen is None or seen.pid != child.pid:
            return ""
        silent = seen.silent_seconds
        most = self._silent_seconds if seen.has_answered else self._first_seconds
        return f"does not answer for {silent:.0f} s" if silent > most else ""

    def _run(self) -> None:
        while not self._closed.wait(ASK_SECONDS):
            for child in self._children:
                pid = child.pid
                if self._closed.is_set() or child.ended() is not None:
                    continue
                seen = self._seen.get(child.name)
                if seen is None or seen.pid != pid:
                    seen = self._seen[child.name] = _Seen(pid)
                seen.note(answered=_answers(child), at=time.monotonic())


def open_directly(url: str, timeout_seconds: float, tls: ssl.SSLContext | None = None) -> HTTPResponse:
    """The answer at an address of this machine, past any proxy that the environment names.

    Raises:
        OSError: no answer, one that is an error (`HTTPError`), or one of something that speaks no HTTP.
    """
    opener = _DIRECT if tls is None else build_opener(ProxyHandler({}), HTTPSHandler(context=tls))
    try:
        reply: HTTPResponse = opener.open(url, timeout=timeout_seconds)
    except HTTPException as error:
        raise OSError(f"the answer is no HTTP: {type(error).__name__}") from error
    return reply


def reason_not_ready(url: str, tls: ssl.SSLContext | None = None) -> str:
    """Why the process at `url` is not ready, a reason a line; empty: it is."""
    try:
        with open_directly(f"{url}/readyz", ANSWER_SECONDS, tls):
            return ""
    except HTTPError as refused:
        with refused:
            return refused.read(MOST_BYTES).decode(errors="replace").strip()
    except OSError as error:
        return f"does not answer on {url.partition('//')[2]}: {error}"


def _answers(child: Child) -> bool:
    url = child.health_url if isinstance(child, Answering) else ""
    try:
        with open_directly(url, ANSWER_SECONDS) as reply:
            return bool(reply.status == 200)  # noqa: PLR2004  HTTP OK
    except Exception:  # noqa: BLE001  whatever it answers; without this thread every child would count as silent
        return False
