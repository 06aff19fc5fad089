"""A data folder made through the real artifact writers, and the service as a process before it."""

import asyncio
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pyarrow as pa
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_query.api.server import RecallServer
from helix_query.api.service import RecallHandlers
from helix_query.generations.current import CurrentGeneration
from helix_query.profile.files import load_profiles
from helix_query.settings import QuerySettings
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import Counts, Manifest, ModelIdentity, StreamState, digest_of
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.artifacts.lexicon.writer import entries_of
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.vectors.records import record_schema
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.identity import content_hash, memory_id

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
PERMUTATIONS = 64
EMPTY = {pa.string(): "", pa.bool_(): False, pa.list_(pa.string()): [], pa.float32(): 0.5}


def minhash(text: str) -> bytes:
    """MinHash of the words, by 64 seeded hashes."""
    words = {word.encode() for word in text.lower().split()} or {b""}
    least = [
        min(
            int.from_bytes(hashlib.blake2b(word, digest_size=4, salt=bytes([seed])).digest())
            for word in words
        )
        for seed in range(PERMUTATIONS)
    ]
    return np.array(least, "<u4").tobytes()


@dataclass
class Corpus:
    """Live stores beside their published generations."""

    root: Path
    encoder: Encoder
    live: Live
    published: int = 0
    ordinals: dict[str, int] = field(default_factory=dict)

    @classmethod
    def create(cls, root: Path, encoder: Encoder) -> "Corpus":
        """Empty stores in `root`."""
        live = Live.create(root / "live", dimensions=encoder.card.dimensions)
        return cls(root, encoder, live)

    def add(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        """Apply rows to all stores; `name` identifies a memory, `entities` are its links. Returns ids."""
        links = [row.get("entities", ()) for row in rows]
        records = [
            self._record({key: value for key, value in row.items() if key != "entities"}) for row in rows
        ]
        table = pa.Table.from_pylist(records, schema=record_schema(self.encoder.card.dimensions))
        self.live.vectors.upsert(table)
        self.live.signals.append(*signals_of(table))
        self.live.lexicon.delete(table["ordinal"].to_pylist())
        self.live.lexicon.upsert(entries_of(table))
        self.live.lexicon.commit()
        for record, names in zip(records, links, strict=True):
            mentions = [Link("MENTIONS", "name", name.lower(), name, 1.0) for name in names]
            self.live.graph.set_links(record["ordinal"], record["tenant_id"], mentions)
        return [record["memory_id"] for record in records]

    def publish(self, *, epoch: int = 1, checksum: str = "") -> int:
        """The stores as the next generation."""
        number = self.published + 1
        card = self.encoder.card
        ids = self.live.vectors.scan(["memory_id"])["memory_id"].to_pylist()
        manifest = Manifest(
            generation=number,
            parent=self.published,
            epoch=epoch,
            published_at=NOW,
            stream=StreamState(name="HELIX_EVENTS"),
            applied_sequence=number * 10,
            derived_sequence=number * 20,
            counts=Counts(memories=self.live.vectors.count, hidden=self.live.vectors.hidden_count),
            digest=digest_of(ids),
            model=ModelIdentity(
                name=card.name, checksum=checksum or card.checksum, dimensions=card.dimensions
            ),
        )
        publish(self.root, self.live, manifest)
        self.published = number
        return number

    def _record(self, given: dict[str, Any]) -> dict[str, Any]:
        name = given.pop("name", given["text"])
        key = f"{given.get('tenant_id', 'acme')}/{name}"
        ordinal = self.ordinals.setdefault(key, len(self.ordinals))
        schema = record_schema(self.encoder.card.dimensions)
        row: dict[str, Any] = {
            column.name: EMPTY.get(column.type, 0) for column in schema if not column.nullable
        }
        row |= {"tenant_id": "acme", "type": "episodic", "audience": ["*"], "priority": 1.0, "role": "user"}
        row |= {
            "event_id": key.replace(" ", "_")[:100],
            "event_kind": "message",
            "is_latest": True,
            "source_class": "user",
        }
        row |= {"created_at": NOW - timedelta(days=10), "occurred_at": NOW - timedelta(days=10)}
        row |= given
        row |= {
            "ordinal": ordinal,
            "memory_id": memory_id(row["tenant_id"], key, 0),
            "stream_sequence": ordinal + 1,
            "revision_sequence": ordinal + 1,
            "event_at": row.get("event_start") or row["occurred_at"],
            "content_hash": content_hash(row["text"]),
            "minhash": minhash(row["text"]),
            "token_count": self.encoder.count_tokens(row["text"]),
            "vector": self.encoder.embed(row["text"]),
            "model": self.encoder.card.checksum,
        }
        return row


@dataclass(frozen=True)
class Service:
    """A running query service."""

    process: subprocess.Popen[bytes]
    address: str
    log: Path

    def channel(self) -> grpc.Channel:
        """A channel of its own."""
        return grpc.insecure_channel(self.address)

    def stub(self) -> Any:
        """A client."""
        return recall_pb2_grpc.RecallServiceStub(self.channel())  # type: ignore[no-untyped-call] # generated

    def recall(self, query: str, *, tenant: str = "acme", user: str = "", **fields: Any) -> Any:
        """Ask, by default now and as nobody in particular."""
        scope = {"tenant_id": tenant, "user_id": user, "principals": fields.pop("principals", ())}
        fields.setdefault("now", NOW)
        return self.stub().Recall(recall_pb2.RecallRequest(scope=scope, query=query, **fields), timeout=10)

    def health(self) -> str:
        """What the health service says."""
        stub = health_pb2_grpc.HealthStub(self.channel())
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
        return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)

    def status(self) -> Any:
        """What is served."""
        return self.stub().GetStatus(recall_pb2.GetStatusRequest(), timeout=5)

    def wait_for(self, condition: Callable[["Service"], bool], *, seconds: float = 60) -> None:
        """Return when `condition` holds; fail when the process ends or time passes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            try:
                if condition(self):
                    return
            except grpc.RpcError:
                pass
            time.sleep(0.05)
        pytest.fail(f"condition not met in {seconds} seconds:\n{self.log.read_text()[-4000:]}")

    def stop(self) -> int:
        """End it as a supervisor would; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


Start = Callable[..., Service]


def is_serving(service: Service) -> bool:
    """Whether recalls are answered."""
    return service.health() == "SERVING"


def start_service(
    root: Path, models: Path, log: Path, *, wrapper: Sequence[str] = (), **settings: str
) -> Service:
    """The service as a process, on a free port; `wrapper` is a command that becomes the one after it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HELIX_")}
    environment |= {
        "HELIX_QUERY_DATA_DIR": str(root),
        "HELIX_QUERY_CACHE_DIR": str(root / "cache"),
        "HELIX_QUERY_MODELS_DIR": str(models),
        "HELIX_QUERY_LISTEN": address,
        "HELIX_QUERY_POLL_SECONDS": "0.05",
        # the first query on a busy test machine is no measure of a stuck channel
        "HELIX_QUERY_CHANNEL_DEADLINE_SECONDS": "5",
        "HELIX_QUERY_DEADLINE_SECONDS": "10",
    } | settings
    with log.open("wb") as stream:
        command = [*wrapper, sys.executable, "-m", "helix_query"]
        process = subprocess.Popen(command, env=environment, stderr=stream)
    return Service(process, address, log)


@pytest.fixture(scope="session")
def encoder(models_dir: Path) -> Iterator[Encoder]:
    """The encoder the test corpora are embedded with."""
    with Encoder.load(default_model(models_dir)) as loaded:
        yield loaded


@pytest.fixture
def corpus(tmp_path: Path, encoder: Encoder) -> Iterator[Corpus]:
    """An empty corpus of the test's own."""
    made = Corpus.create(tmp_path / "data", encoder)
    yield made
    made.live.close()


@pytest.fixture(scope="session")
def corpus_type() -> type[Corpus]:
    """For a corpus that outlives one test."""
    return Corpus


@pytest.fixture(scope="session")
def serve(models_dir: Path) -> Callable[[Path], Service]:
    """Starts a service that outlives one test, on `data` in a folder; whoever starts it stops it."""

    def begin(folder: Path) -> Service:
        service = start_service(folder / "data", models_dir, folder / "query.log")
        service.wait_for(is_serving)
        return service

    return begin


@pytest.fixture
def start(tmp_path: Path, models_dir: Path) -> Iterator[Start]:
    """Starts services; all of them are stopped afterwards."""
    started: list[Service] = []

    def begin(root: Path, *, wrapper: Sequence[str] = (), **settings: str) -> Service:
        log = tmp_path / f"query-{len(started)}.log"
        started.append(start_service(root, models_dir, log, wrapper=wrapper, **settings))
        return started[-1]

    yield begin
    for service in started:
        service.stop()


def said(text: str, **given: Any) -> dict[str, Any]:
    """A row with this text."""
    return {"text": text} | given


DAY = timedelta(days=1)
FAR_AHEAD = datetime(2900, 1, 1, tzinfo=UTC)
"""Ahead of the clock of any machine; what is valid goes by that clock and not by `now`."""
ROWS: list[dict[str, Any]] = [
    said("The staging server listens on port 5432.", type="semantic", occurred_at=NOW - 30 * DAY),
    said("The staging server listens on port 6432 now.", type="semantic", occurred_at=NOW - DAY),
    said("Caroline planted tomatoes in the garden.", speaker="Caroline", session_id="s1",
         entities=["Caroline"]),
    said("Melanie ran a charity race on Sunday.", speaker="Melanie", session_id="s2", entities=["Melanie"]),
    said("We chose Postgres because of its transactions.", type="decision", entities=["Postgres"]),
    said("Restart the worker with systemctl restart helix-worker.", type="procedural"),
    said("src/app/loader.py raises ConfigError when the file is empty.", type="code", entities=["loader.py"]),
    said("Polish Summer is a film directed by Jan Nowak.", title="Polish Summer", type="semantic",
         entities=["Polish Summer", "Jan Nowak"]),
    said("Jan Nowak was born in Gdansk; his mother was Maria Nowak.", title="Jan Nowak", type="semantic",
         entities=["Jan Nowak", "Maria Nowak", "Gdansk"]),
    said("Gdansk lies on the Baltic coast.", title="Gdansk", type="semantic", entities=["Gdansk"]),
    said("Ann keeps the spare garage key under the blue pot.", name="ann private", user_id="ann",
         owner="ann"),
    said("Bob keeps the spare garage key in the shed.", name="bob private", user_id="bob", owner="bob"),
    # reachable for others through the graph alone
    said("A remark about a birthday present.", name="ann linked", user_id="ann", owner="ann",
         entities=["Maria Nowak"]),
    said("A remark that was taken back.", name="deleted linked", hidden=True, entities=["Maria Nowak"]),
    said("A remark of the past.", name="expired linked", expires_at=NOW - DAY, entities=["Maria Nowak"]),
    said("A remark for the board.", name="board linked", audience=["board"], acl=["board"],
         entities=["Maria Nowak"]),
    said("The board approved the merger with Initech.", name="board only", audience=["board"], acl=["board"]),
    said("The office plant is a ficus named Fred.", name="deleted", hidden=True),
    said("The canteen offer ended: free pizza on Mondays.", name="expired", expires_at=NOW - DAY),
    said("The canteen closed for ever.", name="no longer valid", valid_to=NOW),
    said("The canteen reopens with new chairs.", name="not yet valid", valid_from=FAR_AHEAD),
    said("We met the auditors last week about invoices.", occurred_at=NOW - 7 * DAY, session_id="s3"),
    said("We met the auditors in autumn about invoices.", occurred_at=NOW - 150 * DAY, session_id="s4"),
    said("Globex keeps the vault code behind the painting.", name="globex secret", tenant_id="globex",
         entities=["Jan Nowak"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def answering(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path, encoder: Encoder
) -> Iterator[tuple[Service, dict[str, str]]]:
    """A service on one small generation, and the ids of its memories by name."""
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


class InProcess:
    """The service inside this process, so that a test can make a search fail or hang; stores are real."""

    def __init__(self, root: Path, models: Path, scratch: Path, settings: QuerySettings) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        profiles = load_profiles(None)
        self.current = CurrentGeneration(root, models, scratch=scratch, profile=profiles["helix"])
        assert self.current.refresh()
        self.handlers = RecallHandlers(self.current, profiles, settings)
        self._server, port = asyncio.run_coroutine_threadsafe(self._listen(settings), self._loop).result(10)
        self.address = f"127.0.0.1:{port}"
        self._channel = grpc.insecure_channel(self.address)
        self.stub: Any = recall_pb2_grpc.RecallServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.health_stub = health_pb2_grpc.HealthStub(self._channel)

    def recall(self, query: str, *, timeout: float = 10, **fields: Any) -> Any:
        """Ask, by default as nobody in particular of acme."""
        fields.setdefault("scope", {"tenant_id": "acme"})
        return self.stub.Recall(recall_pb2.RecallRequest(query=query, **fields), timeout=timeout)

    def close(self) -> None:
        """End the server and its threads."""
        self._channel.close()
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(10)
        self.handlers.close()
        self.current.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self, settings: QuerySettings) -> tuple[RecallServer, int]:
        server = RecallServer(self.handlers, settings)
        return server, await server.start()


@pytest.fixture
def in_process(tmp_path: Path, models_dir: Path) -> Iterator[Callable[..., InProcess]]:
    """Starts services in this process on a corpus's root; all of them are closed afterwards."""
    started: list[InProcess] = []

    def begin(root: Path, **settings: Any) -> InProcess:
        scratch = tmp_path / f"scratch-{len(started)}"
        scratch.mkdir()
        given = QuerySettings(
            data_dir=root, models_dir=models_dir, listen="127.0.0.1:0", grace_seconds=0, **settings
        )
        started.append(InProcess(root, models_dir, scratch, given))
        return started[-1]

    yield begin
    for service in started:
        service.close()
