"""Fixtures of several rooms: a real NATS server with its streams, a real model."""

import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from nats.aio.client import Client
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from helix_cli.model_build.default_model import ensure_default_model
from helix_shared.broker.connection import connect
from helix_shared.broker.server import NatsServer
from helix_shared.broker.streams import provision
from helix_shared.encoders.store import default_model
from helix_shared.settings import helix_home


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
