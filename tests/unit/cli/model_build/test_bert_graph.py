from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file

from helix_cli.model_build.bert_graph import BertShape, bert_graph
from helix_cli.model_build.minilm import weights_folder
from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_shared.encoders.tokens import TextTokens
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ERF = np.vectorize(math.erf, otypes=[np.float64])


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    """Read the published weights in double precision."""
    stored = load_file(weights_folder()[0] / "model.safetensors")
    return {name: value.astype(np.float64) for name, value in stored.items()}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> onnxruntime.InferenceSession:
    """Run the float32 graph without optimisation, because the graph itself is tested."""
    folder, _ = weights_folder()
    graph = bert_graph(folder / "model.safetensors", BertShape.read(folder / "config.json"))
    path = tmp_path_factory.mktemp("graph") / "fp32.onnx"
    path.write_bytes(graph.SerializeToString())
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _norm(x: np.ndarray, weights: Mapping[str, np.ndarray], layer: str) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    normed: np.ndarray = centred / deviation * weights[f"{layer}.weight"] + weights[f"{layer}.bias"]
    return normed


def _dense(x: np.ndarray, weights: Mapping[str, np.ndarray], layer: str) -> np.ndarray:
    summed: np.ndarray = x @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"]
    return summed


def _attention(x: np.ndarray, weights: Mapping[str, np.ndarray], layer: str, *, heads: int) -> np.ndarray:
    """Take one head at a time, as the paper's formula does."""
    query, key, value = (_dense(x, weights, f"{layer}.self.{part}") for part in ("query", "key", "value"))
    size = x.shape[1] // heads
    mixed = []
    for head in range(heads):
        columns = slice(head * size, (head + 1) * size)
        scores = query[:, columns] @ key[:, columns].T / math.sqrt(size)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed.append(shares / shares.sum(-1, keepdims=True) @ value[:, columns])
    return _dense(np.concatenate(mixed, axis=1), weights, f"{layer}.output.dense")


def reference_forward(
    ids: np.ndarray, weights: Mapping[str, np.ndarray], *, layers: int, heads: int
) -> np.ndarray:
    """BERT (Devlin et al. 2019) for one text, written from the paper in float64: [tokens, hidden]."""
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = _norm(x, weights, "embeddings.LayerNorm")
    for index in range(layers):
        layer = f"encoder.layer.{index}"
        attended = _attention(x, weights, f"{layer}.attention", heads=heads)
        x = _norm(x + attended, weights, f"{layer}.attention.output.LayerNorm")
        wide = _dense(x, weights, f"{layer}.intermediate.dense")
        wide = wide * (1 + ERF(wide / math.sqrt(2))) / 2
        x = _norm(x + _dense(wide, weights, f"{layer}.output.dense"), weights, f"{layer}.output.LayerNorm")
    return x


def _tokens() -> TextTokens:
    return TextTokens.load(weights_folder()[0] / "tokenizer.json", max_tokens=256)


def test_the_float32_graph_computes_bert(
    session: onnxruntime.InferenceSession, weights: dict[str, np.ndarray]
) -> None:
    """Every token vector agrees with a forward pass written from the paper (cosine above .9999)."""
    tokens = _tokens()
    for text in SAMPLE_TEXTS[::8]:
        ids = tokens.ids(text)
        expected = reference_forward(ids[0], weights, layers=6, heads=12)
        actual = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
        lengths = np.linalg.norm(expected, axis=1) * np.linalg.norm(actual, axis=1)
        assert ((expected * actual).sum(axis=1) / lengths).min() > 0.9999
        assert np.abs(expected - actual).max() < 1e-3


def test_padding_changes_nothing_in_the_float32_graph(session: onnxruntime.InferenceSession) -> None:
    """Batch and sequence have any length, and masked positions have no effect."""
    tokens = _tokens()
    short, long = tokens.ids("keys to the summer house"), tokens.ids(SAMPLE_TEXTS[-1])
    batch = np.zeros((2, long.shape[1]), np.int64)
    mask = np.zeros_like(batch)
    for row, ids in enumerate((short, long)):
        batch[row, : ids.shape[1]], mask[row, : ids.shape[1]] = ids[0], 1
    together = session.run(None, {"input_ids": batch, "attention_mask": mask})[0]
    for row, ids in enumerate((short, long)):
        alone = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0]
        assert np.abs(together[row, : ids.shape[1]] - alone).max() < 1e-4


def test_a_config_the_graph_does_not_compute_is_refused(tmp_path: Path) -> None:
    """Only post-norm BERT with exact GELU and absolute positions is supported."""
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "bert", "hidden_act": "relu"}', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="hidden_act"):
        BertShape.read(config)


def test_a_missing_weight_is_named(tmp_path: Path) -> None:
    """Weights of another architecture are refused."""
    file = tmp_path / "model.safetensors"
    save_file({"embeddings.word_embeddings.weight": np.zeros((4, 4), np.float32)}, file)
    with pytest.raises(InvalidInputError, match=r"embeddings\.position_embeddings\.weight"):
        bert_graph(file, BertShape(hidden=4, heads=2, layers=1, epsilon=1e-12))
