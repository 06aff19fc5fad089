"""Where the messages of events are derived: in threads of this process, many events in processes.

Half of the work is Python's own and holds the interpreter's lock, which the thread that applies the messages
needs as well. With threads alone a rebuild uses 1.4 of two cores (ops/decisions/0129).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from helix_cli.rebuilding.derive import Workers
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.settings import IngestSettings
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.vector_cache import VectorCache
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.machine.processes import end_with_parent

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

AT_WORK: Final = 4
"""Events in work at once: some embed while the others tokenise, score and encode."""
MANY: Final = 1_000
"""Events from which processes gain more than their start takes, about two seconds of one core."""
MOST_PROCESSES: Final = 4
"""What these derive is more than one writer applies."""
NICENESS: Final = 5
"""Of the processes: a Helix that serves meanwhile comes first."""


@dataclass(frozen=True, slots=True)
class Underived:
    """An event of the log; `earlier` are turns of its session, oldest first."""

    subject: str
    sequence: int
    event: LoggedEvent | None
    """None: it is none that ingest takes."""
    earlier: Sequence[LoggedEvent] = ()
    refusal: str = ""
    """Why ingest does not take it."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What the workers publish for an event; with the reason where ingest refuses it."""

    sequence: int
    messages: Sequence[DerivedMessage]
    refusal: str = ""


def derive(workers: Workers, one: Underived) -> Derived:
    """The messages of an event; one that ingest refuses has messages without rows."""
    refusal = one.refusal
    if one.event is not None:
        try:
            return Derived(one.sequence, workers.messages(one.event, list(one.earlier)))
        except PermanentError as error:
            refusal = str(error)
    return Derived(one.sequence, workers.of_refused(one.subject, one.sequence), refusal)


class Deriving:
    """A context manager; its threads and processes end with it."""

    def __init__(self, workers: Workers, model: Path) -> None:
        """`model` is the folder of the model in `workers`."""
        self._workers = workers
        self._model = model
        self._threads = ThreadPoolExecutor(AT_WORK, thread_name_prefix="derive")
        self._processes: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        if self._processes is not None:
            self._processes.shutdown(cancel_futures=True)

    def expect(self, events: int) -> None:
        """Start the processes where this many events pay for them."""
        if self._processes is not None or events < MANY:
            return
        settings = IngestSettings.load()
        count = min(settings.lanes_of(len(os.sched_getaffinity(0))), MOST_PROCESSES)
        self._processes = ProcessPoolExecutor(
            count,
            multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(self._model, settings.vector_cache_bytes // count),
        )

    def submit(self, some: Sequence[Underived]) -> Future[list[Derived]]:
        """Begin to derive the messages of a few events; the result has their order.

        Raises: as `process_errors`; read the result inside it, too.
        """
        if self._processes is None:
            return self._threads.submit(_derive_all, self._workers, some)
        with process_errors():
            return self._processes.submit(_derive_here, some)


@contextlib.contextmanager
def process_errors() -> Iterator[None]:
    """Around what may meet that a process of `Deriving` was ended, as by an operating system without memory.

    Raises:
        TemporaryError: one was.
    """
    try:
        yield
    except BrokenProcessPool as error:
        raise TemporaryError("a process that derives messages was ended") from error


def _derive_all(workers: Workers, some: Sequence[Underived]) -> list[Derived]:
    return [derive(workers, one) for one in some]


_WORKERS: Final[list[Workers]] = []
"""Those of one process of `Deriving`."""


def _begin(model: Path, cache_bytes: int) -> None:
    # a terminal sends its interrupt to all processes; the first one ends the others
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    os.nice(NICENESS)
    encoder = Encoder.load(model, lanes=1, cache=VectorCache(cache_bytes))
    _WORKERS.append(Workers.configured(encoder))


def _derive_here(some: Sequence[Underived]) -> list[Derived]:
    return _derive_all(_WORKERS[0], some)
