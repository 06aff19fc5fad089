"""Smoothed products: the same float32 vectors, and int8 vectors that are nearer to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from helix_cli.model_build.bert_graph import BertShape, bert_graph
from helix_cli.model_build.minilm import weights_folder
from helix_cli.model_build.quantise import quantise
from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_cli.model_build.smoothing.factors import Exponents, minilm_exponents
from helix_cli.model_build.smoothing.measuring import measured
from helix_query.profile.adapter import is_adapter_for
from helix_shared.encoders.model import read_card
from helix_shared.encoders.session import GraphSession
from helix_shared.encoders.store import default_model
from helix_shared.encoders.tokens import TextTokens

TEXTS = SAMPLE_TEXTS[::4]


@pytest.fixture(scope="module")
def tokens() -> TextTokens:
    """The tokenizer of MiniLM."""
    return TextTokens.load(weights_folder()[0] / "tokenizer.json", max_tokens=256)


def _graph(smoothing: Exponents | None) -> onnx.ModelProto:
    folder, _ = weights_folder()
    return bert_graph(folder / "model.safetensors", BertShape.read(folder / "config.json"), smoothing)


def _vectors(graph: Path, tokens: TextTokens) -> np.ndarray:
    session = GraphSession(graph, pooling="mean", threads=1)
    found = np.stack([session.vector(tokens.ids(text)) for text in TEXTS])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_float32_is_the_same(tmp_path: Path, tokens: TextTokens) -> None:
    """Factors are powers of two, so no float32 number changes."""
    vectors = []
    for smoothing in (None, minilm_exponents()):
        onnx.save(_graph(smoothing), tmp_path / "float32.onnx")
        vectors.append(_vectors(tmp_path / "float32.onnx", tokens))
    assert np.array_equal(*vectors)


@pytest.mark.long
def test_int8_is_nearer_to_float32(tmp_path: Path, tokens: TextTokens) -> None:
    """Control: the same graph without the factors."""
    onnx.save(_graph(None), tmp_path / "float32.onnx")
    exact = _vectors(tmp_path / "float32.onnx", tokens)
    distances = []
    for smoothing in (None, minilm_exponents()):
        quantise(_graph(smoothing), tmp_path / "int8.onnx", weight_bits=8)
        distances.append(1 - np.sum(_vectors(tmp_path / "int8.onnx", tokens) * exact, axis=1).mean())
    assert distances[1] < 0.6 * distances[0]


@pytest.mark.long
def test_the_file_holds_what_is_measured() -> None:
    """Processors differ in the last digits of activations, which moves an exponent now and then."""
    found, kept = measured(), minilm_exponents()
    assert list(found) == sorted(kept)
    differences = np.concatenate([found[name].astype(int) - kept[name] for name in found])
    assert np.abs(differences).max(initial=0) <= 1
    assert np.count_nonzero(differences) <= len(differences) // 1000


def test_what_was_fitted_to_the_first_build_serves_this_one(models_dir: Path) -> None:
    """The builds differ by the rounding of int8 alone."""
    assert is_adapter_for(read_card(default_model(models_dir)))
