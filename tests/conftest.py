"""Fixtures of several rooms: a real NATS server with its streams, a real model."""

import gc
import hashlib
import json
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, settings
from nats.aio.client import Client
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from helix_cli.model_build.bert_graph import BertShape, bert_graph
from helix_cli.model_build.default_model import ensure_default_model
from helix_cli.model_build.description import Description, write_description
from helix_cli.model_build.minilm import weights_folder
from helix_memory.transport.connection import connect
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.encoders.store import default_model
from helix_shared.settings import helix_home
from tests import examples
from tests.preloaded import close_all

# How fast examples are drawn tells how busy the machine is, not whether a property holds.
settings.register_profile(
    "helix",
    deadline=None,
    max_examples=examples.examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("helix")

# What is collected stays to the end: the collector would walk it again and again while it grows, 4 of 10 s.
gc.disable()


class _OneProcessForAPackage(LoadFileScheduling):
    """`--dist loadfile`, but all files of a folder with an `__init__.py` run in one process.

    They share the fixtures of its scope, "package": a stack, for example, whose start takes 9 s of processor
    time.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = Path(super()._split_scope(nodeid))
        is_package = (self.config.rootpath / file.parent / "__init__.py").exists()
        return (file.parent if is_package else file).as_posix()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """How `make test` distributes tests to processes."""
    return _OneProcessForAPackage(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Properties belong to the long tests where all their examples are tried."""
    if examples.ALL:
        examples.mark_properties(items)


def pytest_collection_finish() -> None:
    """Takes the collected tests and their modules out of what the collector walks during the tests."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_priority() -> Iterator[None]:
    """Commands that give way to others run in the process of the tests, which would never get it back.

    All its later tests, and the servers that they start, would wait for those of the other processes.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda _: 0)
        yield


@pytest.fixture(scope="session", autouse=True)
def preloaded_services() -> Iterator[None]:
    """What tests fork services from ends with them."""
    yield
    close_all()


@pytest.fixture(scope="session", autouse=True)
def query_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All homes of a run share what is made once for a model: its examples take a second to embed."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "query-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELIX_QUERY_CACHE_DIR", str(folder))
        yield


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The folder of the models that `make setup` built; built here if there is none."""
    root = helix_home() / "models"
    ensure_default_model(root)
    return root


@pytest.fixture
def nats_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A NATS server for one test."""
    with NatsServer(tmp_path / "nats") as server:
        yield server


@pytest.fixture
async def nats_client(nats_server: NatsServer) -> AsyncIterator[Client]:
    """A client of a server whose streams and consumers are provisioned."""
    client = await connect(nats_server.url, name="test")
    await provision(client.jetstream())
    yield client
    await client.close()


@pytest.fixture(scope="session")
def reranker_folder(models_dir: Path) -> Callable[..., Path]:
    """Writes the folder of a cross-encoder: the logit is the sum of the weights of the passage's tokens.

    Words have random weights of the deviation `spread`, those of `words` the given ones. With `width` 2 the
    graph gives two numbers for a pair. The tokenizer is that of the default model.
    """

    def write(
        folder: Path, words: Mapping[str, float] | None = None, *, spread: float = 1.0, width: int = 1
    ) -> Path:
        folder.mkdir(parents=True)
        source = default_model(models_dir) / "tokenizer.json"
        tokenizer = Tokenizer.from_file(str(source))
        table = np.random.default_rng(5).normal(0, spread, (tokenizer.get_vocab_size(), width))
        for word, weight in (words or {}).items():
            table[tokenizer.encode(word, add_special_tokens=False).ids] = weight
        table[tokenizer.encode("").ids] = 0.0
        texts = ["input_ids", "attention_mask", "token_type_ids"]
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "n"]) for name in texts]
        output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", width])
        nodes = [
            helper.make_node("Gather", ["table", "input_ids"], ["weights"]),
            helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["types", "last"], ["counts"]),
            helper.make_node("Mul", ["weights", "counts"], ["counted"]),
            helper.make_node("ReduceSum", ["counted", "middle"], ["logits"], keepdims=0),
        ]
        constants = [
            numpy_helper.from_array(table.astype(np.float32), "table"),
            numpy_helper.from_array(np.array([2], np.int64), "last"),
            numpy_helper.from_array(np.array([1], np.int64), "middle"),
        ]
        graph = helper.make_graph(nodes, "words", inputs, [output], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, str(folder / "model.onnx"))
        shutil.copyfile(source, folder / "tokenizer.json")
        config = {"architectures": ["BertForSequenceClassification"], "max_position_embeddings": 512}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def late_interaction_folder(models_dir: Path) -> Callable[..., Path]:
    """Writes the folder of a late-interaction model, as PyLate exports it without its projection.

    The state of a token has 80 random numbers, those of its word and a quarter of those of the marker of its
    text; a word of `alike` has the numbers of the word that it is mapped to. The projection has 96 numbers.
    `outlier` enlarges those of one word, so that int8 loses all others. The tokenizer is that of MiniLM.
    """

    def write(folder: Path, alike: Mapping[str, str] | None = None, *, outlier: float = 1.0) -> Path:
        (folder / "1_Dense").mkdir(parents=True)
        source = default_model(models_dir) / "tokenizer.json"
        tokenizer, drawn = Tokenizer.from_file(str(source)), np.random.default_rng(3)
        tokenizer.no_padding()
        table = drawn.normal(0, 1, (tokenizer.get_vocab_size(), 80)).astype(np.float32)
        for word, other in (alike or {}).items():
            [mine], [its] = (tokenizer.encode(one, add_special_tokens=False).ids for one in (word, other))
            table[mine] = table[its]
        table[tokenizer.token_to_id("zebra")] *= outlier
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "n"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["b", "n", 80])
        nodes = [
            helper.make_node("Gather", ["table", "input_ids"], ["words"]),
            helper.make_node("Gather", ["words", "second"], ["marker"], axis=1),
            helper.make_node("Mul", ["marker", "quarter"], ["some"]),
            helper.make_node("Add", ["words", "some"], ["last_hidden_state"]),
        ]
        constants = [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([1], np.int64), "second"),
            numpy_helper.from_array(np.array(0.25, np.float32), "quarter"),
        ]
        graph = helper.make_graph(nodes, "late", inputs, [output], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, str(folder / "model.onnx"))
        shutil.copyfile(source, folder / "tokenizer.json")
        weights = drawn.normal(0, 80**-0.5, (96, 80)).astype(np.float32)
        save_file({"linear.weight": weights}, folder / "1_Dense" / "model.safetensors")
        identity = {"bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
        stated = {"query_prefix": "[unused0]", "document_prefix": "[unused1]", "document_length": 32}
        modules = [{"path": "", "type": "x.Transformer"}, {"path": "1_Dense", "type": "pylate.models.Dense"}]
        for name, values in {
            "1_Dense/config.json": identity,
            "config_sentence_transformers.json": stated,
            "modules.json": modules,
        }.items():
            (folder / name).write_text(json.dumps(values), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def encoder_folder() -> Callable[..., Path]:
    """Writes a sentence-transformers folder: one layer of a BERT with random weights.

    `outlier` enlarges the scale of the word embeddings, which int8 cannot keep. The tokenizer is that of
    MiniLM if none is given.
    """

    def write(
        folder: Path,
        description: Description,
        *,
        graph: str = "onnx/model.onnx",
        outlier: float = 0.0,
        hidden: int = 64,
        tokenizer: Tokenizer | None = None,
    ) -> Path:
        (folder / graph).parent.mkdir(parents=True)
        positions = description.max_tokens + 16
        minilm = weights_folder()[0] / "tokenizer.json"
        used = tokenizer or Tokenizer.from_file(str(minilm))
        weights = _random_bert(hidden, used.get_vocab_size(), positions, outlier)
        save_file(weights, folder / "model.safetensors")
        shape = BertShape(hidden=hidden, heads=4, layers=1, epsilon=1e-12)
        onnx.save(bert_graph(folder / "model.safetensors", shape), folder / graph)
        config = {"max_position_embeddings": positions}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        if tokenizer is None:
            shutil.copyfile(minilm, folder / "tokenizer.json")
        else:
            tokenizer.save(str(folder / "tokenizer.json"))
        write_description(folder, description)
        return folder

    return write


def _random_bert(hidden: int, words: int, positions: int, outlier: float) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    layer, wide = "encoder.layer.0", 4 * hidden
    shapes = {
        f"{layer}.attention.self.query": (hidden, hidden),
        f"{layer}.attention.self.key": (hidden, hidden),
        f"{layer}.attention.self.value": (hidden, hidden),
        f"{layer}.attention.output.dense": (hidden, hidden),
        f"{layer}.intermediate.dense": (wide, hidden),
        f"{layer}.output.dense": (hidden, wide),
    }
    tables = {"word": words, "position": positions, "token_type": 2}
    weights = {f"embeddings.{name}_embeddings.weight": (rows, hidden) for name, rows in tables.items()}
    weights |= {f"{name}.weight": shape for name, shape in shapes.items()}
    values = {name: random.normal(0, 0.1, shape).astype(np.float32) for name, shape in weights.items()}
    values |= {f"{name}.bias": np.zeros(shape[0], np.float32) for name, shape in shapes.items()}
    for norm in ("embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"):
        values |= {
            f"{norm}.weight": np.ones(hidden, np.float32),
            f"{norm}.bias": np.zeros(hidden, np.float32),
        }
    values["embeddings.word_embeddings.weight"][0, 0] += outlier
    return values


class _CarelessHandler(BaseHTTPRequestHandler):
    """S3 without preconditions, as npm s3rver and some proxies."""

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
def careless_address() -> Iterator[str]:
    """The address of an S3 server that ignores preconditions."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _CarelessHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
