"""A T5 model in ONNX: a folder with `encoder_model.onnx`, `decoder_model.onnx` and `tokenizer.json`.

This is what `optimum-cli export onnx --task text2text-generation` writes; `config.json` beside them names the
first and the last token, by default 0 and 1 as in T5. The decoder has no cache, so each step reads the whole
question: with 32 tokens that is cheap, and any export works. After Nogueira and Lin 2019, "From doc2query to
docTTTTTquery".
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from tokenizers import Tokenizer

from helix_doc2query.t5.beam import beam_search
from helix_shared.encoders.engine import onnxruntime
from helix_shared.encoders.tokens import TextTokens, clean_text
from helix_shared.errors import CorruptArtifactError, NotFoundError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENCODER_FILE: Final = "encoder_model.onnx"
DECODER_FILE: Final = "decoder_model.onnx"
TOKENIZER_FILE: Final = "tokenizer.json"
CONFIG_FILE: Final = "config.json"
_ENCODER_INPUTS: Final = frozenset({"input_ids", "attention_mask"})
_DECODER_INPUTS: Final = frozenset({"input_ids", "encoder_hidden_states", "encoder_attention_mask"})
_RANK: Final = 3
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Search:
    """How questions are searched for."""

    beams: int = 3
    question_tokens: int = 32
    text_tokens: int = 256
    prefix: str = ""
    """Text before each memory, for models that were trained with one."""


class QuestionModel:
    """A loaded model; thread-safe."""

    def __init__(
        self,
        encoder: onnxruntime.InferenceSession,
        decoder: onnxruntime.InferenceSession,
        tokens: TextTokens,
        tokenizer: Tokenizer,
        *,
        ends: tuple[int, int],
        checksum: str,
        search: Search,
    ) -> None:
        self.checksum = checksum
        self._encoder = encoder
        self._decoder = decoder
        self._tokens = tokens
        self._tokenizer = tokenizer
        self._start, self._end = ends
        self._search = search

    @classmethod
    def load(cls, folder: Path, search: Search) -> Self:
        """Open the graphs of a folder.

        Raises:
            NotFoundError: a file is missing.
            CorruptArtifactError: a graph cannot be run, or is no T5 encoder or decoder.
        """
        paths = [folder / name for name in (ENCODER_FILE, DECODER_FILE, TOKENIZER_FILE)]
        if missing := [path.name for path in paths if not path.is_file()]:
            raise NotFoundError(f"{folder} has no {', '.join(missing)}; export the model with optimum")
        tokens = TextTokens.load(paths[2], max_tokens=search.text_tokens, remembers=False)
        return cls(
            _session(paths[0], _ENCODER_INPUTS),
            _session(paths[1], _DECODER_INPUTS),
            tokens,
            Tokenizer.from_file(str(paths[2])),
            ends=_ends(folder / CONFIG_FILE),
            checksum=_checksum([*paths, folder / CONFIG_FILE], search),
            search=search,
        )

    def questions(self, text: str) -> list[str]:
        """Questions that the text answers, the most probable first; none for an empty text."""
        if not clean_text(text).strip():
            return []
        ids = self._tokens.ids(self._search.prefix + text)
        mask = np.ones_like(ids)
        hidden = self._encoder.run(None, _only(self._encoder, input_ids=ids, attention_mask=mask))[0]

        def next_tokens(prefixes: NDArray[np.int64]) -> NDArray[np.float64]:
            count = len(prefixes)
            feed = _only(
                self._decoder,
                input_ids=prefixes,
                encoder_hidden_states=np.repeat(hidden, count, axis=0),
                encoder_attention_mask=np.repeat(mask, count, axis=0),
            )
            return _log_softmax(self._decoder.run(["logits"], feed)[0][:, -1])

        found = beam_search(
            next_tokens,
            start=self._start,
            end=self._end,
            beams=self._search.beams,
            most_tokens=self._search.question_tokens,
        )
        decoded = (self._tokenizer.decode(list(tokens), skip_special_tokens=True) for tokens in found)
        return [
            question for question in dict.fromkeys(" ".join(text.split()) for text in decoded) if question
        ]


def _session(path: Path, known: frozenset[str]) -> onnxruntime.InferenceSession:
    """The session of a graph whose inputs are among `known`; one thread, because a worker has one lane."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises its own errors without a common class
        raise CorruptArtifactError(f"graph cannot be run: {path}: {error}") from error
    inputs = {node.name for node in session.get_inputs()}
    outputs = session.get_outputs()
    is_decoder = known is _DECODER_INPUTS
    named = "logits" in {node.name for node in outputs} if is_decoder else bool(outputs)
    if inputs - known or "input_ids" not in inputs or not named:
        raise CorruptArtifactError(f"graph is no T5 part without a cache: {path}: inputs {sorted(inputs)}")
    if len(outputs[0].shape) != _RANK and not is_decoder:
        raise CorruptArtifactError(f"first output of the encoder has not three dimensions: {path}")
    return session


def _only(session: onnxruntime.InferenceSession, **arrays: Any) -> dict[str, Any]:
    """Those of `arrays` that the graph takes."""
    return {node.name: arrays[node.name] for node in session.get_inputs()}


def _ends(path: Path) -> tuple[int, int]:
    """First and last token of a question."""
    if not path.is_file():
        return 0, 1
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        return int(config.get("decoder_start_token_id") or 0), int(config.get("eos_token_id", 1))
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptArtifactError(f"cannot be read: {path}") from error


def _checksum(paths: list[Path], search: Search) -> str:
    """The first 12 digits of the SHA-256 of all that questions depend on: the files, and how it searches."""
    digest = hashlib.sha256(repr(search).encode())
    for path in filter(Path.is_file, paths):
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()[:12]


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    scores: NDArray[np.float64] = wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))
    return scores
