"""Turns token ids into states and one unit vector (ONNX graph, pooling, normalisation), or into one logit.

One text per run: with dynamic quantisation the activations of a batch share one scale, so a vector would
depend on the other texts. A session of ONNX Runtime is thread-safe, so all lanes share one session and one
copy of the weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from helix_shared.encoders.engine import onnxruntime
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

# What exporters call the matrix of token vectors; any other rank-3 output comes after these.
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
RANK = 3
# The fused kernel takes four times as long as Add and LayerNormalization (ONNX Runtime 1.31, one core, 128
# tokens of MiniLM: 2.7 of 9.8 ms); without it embedding takes three quarters of the time.
SLOW_FUSIONS = ["SkipLayerNormFusion"]


class TokenSession:
    """A loaded graph that turns the ids of one text into the states of its tokens."""

    def __init__(self, graph: Path, *, threads: int) -> None:
        self._session = _open(graph, threads=threads)
        self._inputs = _text_inputs(graph, self._session)
        self.output = _token_output(graph, self._session.get_outputs())
        """Name of the output of states."""

    def states(self, ids: np.ndarray) -> np.ndarray:
        """Run the graph on `ids` (int64 [1, n]); the last hidden states, float32 [n, dimensions]."""
        feed = _feed(self._inputs, ids, np.zeros_like(ids))
        states: np.ndarray = self._session.run([self.output], feed)[0][0]
        return states


class GraphSession(TokenSession):
    """The same, with the vector of the text."""

    def __init__(self, graph: Path, *, pooling: Literal["mean", "cls"], threads: int) -> None:
        super().__init__(graph, threads=threads)
        self._pooling = pooling

    def vector(self, ids: np.ndarray) -> np.ndarray:
        """Run the graph on `ids` (int64 [1, n]); float32 [dimensions] of length one."""
        return self.pooled(self.states(ids))

    def pooled(self, states: np.ndarray) -> np.ndarray:
        """The vector of a text from the states [n, dimensions] of its tokens."""
        pooled = states[0] if self._pooling == "cls" else states.mean(axis=0, dtype=np.float32)
        unit: np.ndarray = (pooled / np.linalg.norm(pooled)).astype(np.float32, copy=False)
        return unit


class PairSession:
    """A loaded graph that turns the ids of a query and a passage into one number."""

    def __init__(self, graph: Path, *, threads: int) -> None:
        self._graph = graph
        self._session = _open(graph, threads=threads)
        self._inputs = _text_inputs(graph, self._session)

    def logit(self, ids: np.ndarray, types: np.ndarray) -> float:
        """Run the graph on one pair: ids, and which text each token is of (0, 1), int64 [1, n].

        Raises:
            CorruptArtifactError: the graph cannot be run, or gives anything but one finite number.
        """
        try:
            found = self._session.run(None, _feed(self._inputs, ids, types))[0]
        except Exception as error:  # the runtime's exceptions share no base of their own
            raise CorruptArtifactError(f"graph cannot be run: {self._graph}: {error}") from error
        if found.size != 1 or not np.isfinite(found).all():
            raise CorruptArtifactError(
                f"graph must give one finite number for a pair, as a model for sequence classification with "
                f"one label does: {self._graph}: its output has the shape {list(found.shape)}"
            )
        return float(found.item())


def _text_inputs(graph: Path, session: Any) -> set[str]:
    """Names of the inputs; CorruptArtifactError if they are not those of a text encoder."""
    inputs = {node.name for node in session.get_inputs()}
    if inputs - {"input_ids", "attention_mask", "token_type_ids"} or "input_ids" not in inputs:
        raise CorruptArtifactError(f"graph is not a text encoder: {graph}: inputs {sorted(inputs)}")
    return inputs


def _feed(inputs: set[str], ids: np.ndarray, types: np.ndarray) -> dict[str, np.ndarray]:
    every = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    return {name: every[name] for name in inputs}


def _open(graph: Path, *, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take CPU time from the stages after the encoder.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )
    except Exception as error:  # the runtime's exceptions share no base of their own
        raise CorruptArtifactError(f"graph cannot be run: {graph}: {error}") from error


def _token_output(graph: Path, outputs: list[Any]) -> str:
    names: list[str] = [node.name for node in outputs]
    matrices: list[str] = [node.name for node in outputs if len(node.shape) == RANK]
    found = next((name for name in (*TOKEN_OUTPUTS, *matrices) if name in names), None)
    if found is None:
        raise CorruptArtifactError(f"graph has no output of token vectors: {graph}: outputs {names}")
    return found
