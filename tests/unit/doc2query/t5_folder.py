"""A tiny model in the shape of an exported T5: random weights, words as tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ("<pad>", "</s>", "<unk>", "who", "fired", "the", "kiln", "when", "odile", "where", "glaze", "blue")
SIZE = 6


def weights(seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Embeddings [words, SIZE], and the output matrix [SIZE, words]."""
    drawn = np.random.default_rng(seed)
    shapes = ((len(WORDS), SIZE), (SIZE, len(WORDS)))
    first, second = (drawn.normal(size=shape).astype(np.float32) for shape in shapes)
    return first, second


def write_folder(folder: Path, *, seed: int = 3, decoder_inputs: tuple[str, ...] = ()) -> Path:
    """Write the three files of a model; `decoder_inputs` adds inputs that the graph does not read."""
    folder.mkdir(parents=True, exist_ok=True)
    embeddings, output = weights(seed)
    ids = _input("input_ids", TensorProto.INT64, ["batch", "length"])
    hidden = _input("last_hidden_state", TensorProto.FLOAT, ["batch", "length", SIZE])
    embedding = numpy_helper.from_array(embeddings, "embeddings")
    mask = _input("attention_mask", TensorProto.INT64, ["batch", "length"])
    gather = helper.make_node("Gather", ["embeddings", "input_ids"], ["last_hidden_state"])
    encoder = helper.make_graph([gather], "encoder", [ids, mask], [hidden], [embedding])
    _save(encoder, folder / "encoder_model.onnx")
    nodes = [
        helper.make_node("Gather", ["embeddings", "input_ids"], ["embedded"]),
        helper.make_node("ReduceMean", ["encoder_hidden_states", "axes"], ["context"], keepdims=1),
        helper.make_node("Add", ["embedded", "context"], ["summed"]),
        helper.make_node("MatMul", ["summed", "output"], ["logits"]),
    ]
    constants = [
        embedding,
        numpy_helper.from_array(output, "output"),
        numpy_helper.from_array(np.array([1], np.int64), "axes"),
    ]
    states = _input("encoder_hidden_states", TensorProto.FLOAT, ["batch", "seen", SIZE])
    seen = ("encoder_attention_mask", *decoder_inputs)
    more = [_input(name, TensorProto.INT64, ["batch", "seen"]) for name in seen]
    logits = _input("logits", TensorProto.FLOAT, ["batch", "length", len(WORDS)])
    decoder = helper.make_graph(nodes, "decoder", [ids, states, *more], [logits], constants)
    _save(decoder, folder / "decoder_model.onnx")
    vocabulary = {word: n for n, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=WORDS[2]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["<pad>", "</s>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def scores(seed: int, text: list[int], prefix: list[int]) -> NDArray[np.float64]:
    """Log probabilities [words] of the token after `prefix`, computed without the graphs."""
    embeddings, output = weights(seed)
    context = embeddings[text].mean(axis=0)
    logits = ((embeddings[prefix[-1]] + context) @ output).astype(np.float64)
    shifted = logits - logits.max()
    logs: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return logs


def _input(name: str, kind: int, shape: list[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _save(graph: onnx.GraphProto, path: Path) -> None:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, str(path))
