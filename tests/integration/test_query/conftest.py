"""Corpora and query services for all tests below."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2_grpc
from helix_query.settings import QuerySettings
from helix_shared.broker.server import free_port
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model

from .corpus import Corpus
from .rows import ROWS
from .service import InProcess, Service, is_serving, start_service

Start = Callable[..., Service]


@pytest.fixture(scope="session")
def encoder(models_dir: Path) -> Iterator[Encoder]:
    """The encoder of the test corpora."""
    with Encoder.load(default_model(models_dir)) as loaded:
        yield loaded


@pytest.fixture
def corpus(tmp_path: Path, encoder: Encoder) -> Iterator[Corpus]:
    """An empty corpus."""
    made = Corpus.create(tmp_path / "data", encoder)
    yield made
    made.live.close()


@pytest.fixture(scope="session")
def corpus_type() -> type[Corpus]:
    """To make a corpus that outlives one test."""
    return Corpus


@pytest.fixture(scope="session")
def serve(models_dir: Path) -> Callable[..., Service]:
    """Starts a service on `data` in a folder, or on the `data` given; the caller stops it."""

    def begin(folder: Path, *, data: Path | None = None, **settings: str) -> Service:
        service = start_service(data or folder / "data", models_dir, folder / "query.log", **settings)
        service.wait_for(is_serving)
        return service

    return begin


@pytest.fixture
def start(tmp_path: Path, models_dir: Path) -> Iterator[Start]:
    """Starts services; all are stopped after the test."""
    started: list[Service] = []

    def begin(root: Path, *, wrapper: Sequence[str] = (), **settings: str) -> Service:
        log = tmp_path / f"query-{len(started)}.log"
        started.append(start_service(root, models_dir, log, wrapper=wrapper, **settings))
        return started[-1]

    yield begin
    for service in started:
        service.stop()


@pytest.fixture(scope="session")
def answering(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, encoder: Encoder
) -> Iterator[tuple[Service, dict[str, str]]]:
    """A service on one small generation, and the ids of its memories by name; no test changes either."""
    folder = tmp_path_factory.mktemp("answering")
    corpus = Corpus.create(folder / "data", encoder)
    rows = [dict(row) for row in ROWS]
    ids = corpus.add([dict(row) for row in rows])
    corpus.publish()
    corpus.live.close()
    service = start_service(folder / "data", models_dir, folder / "query.log")
    service.wait_for(is_serving)
    yield service, dict(zip([row.get("name", row["text"]) for row in rows], ids, strict=True))
    assert service.stop() == 0


@pytest.fixture(scope="session")
def in_process_type() -> type[InProcess]:
    """To start a service in this process that outlives one test."""
    return InProcess


@pytest.fixture(scope="session")
def told(encoder: Encoder, models_dir: Path) -> Callable[..., AbstractContextManager[Any]]:
    """While a block runs, a client of a service in this process that was told parts of rows in this order."""

    @contextmanager
    def serving(folder: Path, *parts: Sequence[dict[str, Any]]) -> Iterator[Any]:
        corpus = Corpus.create(folder / "data", encoder)
        for part in parts:
            corpus.add([dict(row) for row in part])
        corpus.publish()
        (folder / "scratch").mkdir()
        settings = QuerySettings(
            data_dir=corpus.root, models_dir=models_dir, listen="127.0.0.1:0", grace_seconds=0
        )
        service = InProcess(corpus.root, models_dir, folder / "scratch", settings)
        with grpc.insecure_channel(service.address) as channel:
            yield recall_pb2_grpc.RecallServiceStub(channel)  # type: ignore[no-untyped-call] # generated
        service.close()
        corpus.live.close()

    return serving


@pytest.fixture
def in_process(tmp_path: Path, models_dir: Path) -> Iterator[Callable[..., InProcess]]:
    """Starts services in this process; all are closed after the test."""
    started: list[InProcess] = []

    def begin(root: Path, **settings: Any) -> InProcess:
        scratch = tmp_path / f"scratch-{len(started)}"
        scratch.mkdir()
        query_settings = QuerySettings(
            data_dir=root, models_dir=models_dir, listen="127.0.0.1:0", grace_seconds=0, **settings
        )
        started.append(InProcess(root, models_dir, scratch, query_settings))
        return started[-1]

    yield begin
    for service in started:
        service.close()


@pytest.fixture
def free_address() -> str:
    """An address of this machine that nobody listens on."""
    return f"127.0.0.1:{free_port()}"
